"""RMSNorm over JSON as one would write it in Python: a WSGI application with orjson and NumPy, for gunicorn."""
import numpy as np
import orjson

EPSILON = 1e-5


def application(environ, start_response):
    x = np.asarray(orjson.loads(environ["wsgi.input"].read())["x"], dtype=np.float32)
    rms = np.sqrt(np.mean(np.square(x, dtype=np.float64), axis=-1, keepdims=True) + EPSILON)
    y = (x / rms).astype(np.float32)
    body = orjson.dumps({"y": y}, option=orjson.OPT_SERIALIZE_NUMPY)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
