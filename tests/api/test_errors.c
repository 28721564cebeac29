/* Every kind of request that makes no sense: its status, its name, the pointer to the field, and a sentence that helps. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

struct wrong {
	const char *path, *body;
	int status;
	const char *name, *pointer, *word;   /* pointer NULL: malformed text, with line, column and offset */
	const char *expected, *got;          /* JSON, or NULL where it is not looked at */
};

#define NORM "/rmsnorm"
#define LAYER "/layernorm"
#define SUM "/residual"

static const struct wrong wrongs[] = {
	/* text */
	{NORM, "", 400, "bad_json", NULL, "empty", 0, 0},
	{NORM, "{\"x\":[3,4]", 400, "bad_json", NULL, "ends", 0, 0},
	{NORM, "{\"x\":[3,4]} x", 400, "bad_json", NULL, "end of the body", 0, 0},
	{NORM, "{\"x\":[3,4]}{\"x\":[3,4]}", 400, "bad_json", NULL, "end of the body", 0, 0},
	{NORM, "{\"x\":[3,4],\"dtype\":\"float\xff\"}", 400, "bad_json", NULL, "UTF-8", 0, 0},
	{NORM, "{\"x\":[3,\"a\xff\"]}", 400, "bad_json", NULL, "UTF-8", 0, 0},
	{NORM, "{\"x\":[[1],[2,\"\\q\"]]}", 400, "bad_json", NULL, "escape", 0, 0},
	{NORM, "{\"x\":[3,\"µµµµµµµµµµµµµµµµµµµµµµµµµ\"]}", 422, "bad_tensor", "/x/1", "number", 0, 0},
	{NORM, "{\"x\":[3,4],\"dtype\":\"\\ud800\"}", 400, "bad_json", NULL, "surrogate", 0, 0},
	{NORM, "{\"x\":[3,4],\"dtype\":\"\\x\"}", 400, "bad_json", NULL, "escape", 0, 0},
	{NORM, "{\"x\":[3,4],\"dtype\":\"a\nb\"}", 400, "bad_json", NULL, "control", 0, 0},
	{NORM, "{\"x\":[NaN,4]}", 400, "bad_json", NULL, "\"nonfinite\": \"string\"", 0, 0},
	{NORM, "{\"x\":[3,Infinity]}", 400, "bad_json", NULL, "\"nonfinite\": \"string\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"epsilon\":NaN}", 400, "bad_json", NULL, "\"nonfinite\": \"string\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"x\":[3,4]}", 400, "duplicate_key", NULL, "\"x\"", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1],\"shape\":[1],\"data\":[1]}}", 400, "duplicate_key", NULL, "\"shape\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"\\u0078\":[3,4]}", 400, "duplicate_key", NULL, "\"\\u0078\"", 0, 0},
	{NORM, "[3,4]", 422, "not_an_object", "", "{\"x\":[3,4]}", 0, 0},
	{NORM, "\"x\"", 422, "not_an_object", "", "object", 0, 0},
	{NORM, "null", 422, "not_an_object", "", "object", 0, 0},

	{NORM, "{\"x\":[3,4],\"axes\":[99999999999999999999]}", 422, "bad_value", "/axes/0", "between -2^53 and 2^53", "\"an integer\"", 0},
	{NORM, "{\"x\":[\"Foo\",1],\"nonfinite\":\"string\"}", 422, "bad_tensor", "/x/0", "\"-Infinity\"", "\"a number\"", "\"Foo\""},

	/* fields */
	{NORM, "{}", 422, "missing_field", "/x", "\"x\"", 0, 0},
	{NORM, "{\"X\":[3,4]}", 422, "unknown_field", "/X", "\"x\"", "\"x\"", "\"X\""},
	{NORM, "{\"x\":[3,4],\"eps\":1e-6}", 422, "unknown_field", "/eps", "epsilon", 0, 0},
	{NORM, "{\"x\":[3,4],\"epsilom\":1e-6}", 422, "unknown_field", "/epsilom", "did you mean \"epsilon\"?", "\"epsilon\"", "\"epsilom\""},
	{NORM, "{\"x\":[3,4],\"gain_ofset\":1}", 422, "unknown_field", "/gain_ofset", "gain_offset", 0, 0},
	{NORM, "{\"x\":[3,4],\"a/b~c\":1}", 422, "unknown_field", "/a~1b~0c", "a/b~c", 0, 0},
	{NORM, "{\"x\":[3,4],\"\":1}", 422, "unknown_field", "/", "", 0, 0},
	{NORM, "{\"x\":[3,4],\"bias\":[1,1]}", 422, "unknown_field", "/bias", "LayerNorm", 0, 0},
	{NORM, "{\"x\":[3,4],\"update\":[1,1]}", 422, "unknown_field", "/update", "update", 0, 0},
	{NORM, "{\"x\":[3,4],\"kind\":\"rmsnorm\"}", 422, "unknown_field", "/kind", "kind", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1],\"data\":[1],\"stride\":[1]}}", 422, "unknown_field", "/x/stride", "stride", 0, 0},
	{NORM, "{\"x\":null}", 422, "bad_value", "/x", "leave the field out", 0, "null"},
	{NORM, "{\"x\":\"3,4\"}", 422, "bad_value", "/x", "tensor", 0, "\"3,4\""},
	{NORM, "{\"x\":true}", 422, "bad_value", "/x", "tensor", 0, "true"},
	{NORM, "{\"x\":3}", 422, "bad_tensor", "/x", "[3]", 0, "3"},

	/* dtype, format, nonfinite */
	{NORM, "{\"x\":[3,4],\"dtype\":\"float31\"}", 422, "bad_value", "/dtype", "did you mean \"float32\"", "[\"float64\",\"float32\",\"bfloat16\",\"float16\"]", "\"float31\""},
	{NORM, "{\"x\":[3,4],\"dtype\":\"int8\"}", 422, "bad_value", "/dtype", "\"bfloat16\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"dtype\":32}", 422, "bad_value", "/dtype", "\"float32\"", 0, "32"},
	{NORM, "{\"x\":[3,4],\"param_dtype\":\"half\"}", 422, "bad_value", "/param_dtype", "\"float16\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"format\":\"csv\"}", 422, "bad_value", "/format", "\"nested\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"nonfinite\":\"null\"}", 422, "bad_value", "/nonfinite", "\"string\"", 0, 0},

	/* tensors: nested */
	{NORM, "{\"x\":[[1,2],[3]]}", 422, "ragged", "/x/1", "1 elements", "2", "1"},
	{NORM, "{\"x\":[[1,2],[3,4],[5,6,7]]}", 422, "ragged", "/x/2", "3 elements", "2", "3"},
	{NORM, "{\"x\":[[[1,2],[3,4]],[[5,6]]]}", 422, "ragged", "/x/1", "1 elements", "2", "1"},
	{NORM, "{\"x\":[[[1,2],[3,4]],[[5,6],[7]]]}", 422, "ragged", "/x/1/1", "1 elements", "2", "1"},
	{NORM, "{\"x\":[[1],2]}", 422, "bad_tensor", "/x/1", "equally deep", "\"an array\"", "\"a number\""},
	{NORM, "{\"x\":[1,[2]]}", 422, "bad_tensor", "/x/1", "equally deep", "\"a number\"", "\"an array\""},
	{NORM, "{\"x\":[]}", 422, "bad_tensor", "/x", "{\"shape\":[0,4],\"data\":[]}", 0, "[]"},
	{NORM, "{\"x\":[[],[]]}", 422, "bad_tensor", "/x/0", "{\"shape\":[0,4],\"data\":[]}", 0, 0},
	{NORM, "{\"x\":[[],[1]]}", 422, "bad_tensor", "/x/0", "at least one", 0, 0},
	{NORM, "{\"x\":[1,\"2\"]}", 422, "bad_tensor", "/x/1", "number", "\"a number\"", "\"2\""},
	{NORM, "{\"x\":[\"1\",2]}", 422, "bad_tensor", "/x/0", "number", "\"a number\"", "\"1\""},
	{NORM, "{\"x\":[[1,2],[null,4]]}", 422, "bad_tensor", "/x/1/0", "number", 0, "\"null\""},
	{NORM, "{\"x\":[null,4]}", 422, "bad_tensor", "/x/0", "number", 0, "null"},
	{NORM, "{\"x\":[1,true]}", 422, "bad_tensor", "/x/1", "number", 0, 0},
	{NORM, "{\"x\":[1,{\"y\":2}]}", 422, "bad_tensor", "/x/1", "number", 0, "\"an object\""},
	{NORM, "{\"x\":[{\"y\":2}]}", 422, "bad_tensor", "/x/0", "number", 0, "\"an object\""},
	{NORM, "{\"x\":[1,\"NaN\"]}", 422, "bad_tensor", "/x/1", "\"nonfinite\": \"string\"", 0, "\"NaN\""},
	{NORM, "{\"x\":[[1],[\"-Infinity\"]]}", 422, "bad_tensor", "/x/1/0", "\"nonfinite\": \"string\"", 0, "\"-Infinity\""},
	{NORM, "{\"x\":[\"Infinity\",1]}", 422, "bad_tensor", "/x/0", "\"nonfinite\": \"string\"", 0, "\"Infinity\""},
	{NORM, "{\"x\":[1,\"nan\"],\"nonfinite\":\"string\"}", 422, "bad_tensor", "/x/1", "number", 0, "\"nan\""},
	{NORM, "{\"x\":[[[[[[[[[1]]]]]]]]]}", 422, "bad_tensor", "/x", "8 axes", "8", 0},
	{NORM, "{\"x\":[1,1e400]}", 422, "out_of_range", "/x/1", "float64", "1.7976931348623157e+308", "\"1e400\""},
	{NORM, "{\"x\":[[1,2],[3,-1e309]]}", 422, "out_of_range", "/x/1/1", "float64", 0, "\"-1e309\""},
	{NORM, "{\"x\":[1,3.5e38],\"dtype\":\"float32\"}", 422, "out_of_range", "/x/1", "float32", "3.4028235e+38", "\"3.5e38\""},
	{NORM, "{\"x\":[1,65520],\"dtype\":\"float16\"}", 422, "out_of_range", "/x/1", "float16", "65504", "\"65520\""},
	{NORM, "{\"x\":[1,2],\"gain\":[1,65520],\"param_dtype\":\"float16\"}", 422, "out_of_range", "/gain/1", "float16", 0, 0},
	{NORM, "{\"x\":[1,2],\"gain\":1e39,\"param_dtype\":\"bfloat16\"}", 422, "out_of_range", "/gain", "bfloat16", 0, 0},
	{NORM, "{\"x\":[1,2],\"epsilon\":1e400}", 422, "out_of_range", "/epsilon", "float64", 0, "\"1e400\""},

	/* tensors: flat and base64 */
	{NORM, "{\"x\":{\"data\":[1,2]}}", 422, "missing_field", "/x/shape", "shape", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2]}}", 422, "missing_field", "/x", "data", 0, 0},
	{NORM, "{\"x\":{}}", 422, "missing_field", "/x/shape", "shape", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"data\":[1,2],\"base64\":\"AAAA\"}}", 422, "conflicting_fields", "/x", "either", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"data\":[1,2],\"dtype\":\"float32\"}}", 422, "conflicting_fields", "/x/dtype", "base64", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2,2],\"data\":[1,2,3]}}", 422, "shape_mismatch", "/x/data", "4", "4", "3"},
	{NORM, "{\"x\":{\"shape\":[2],\"data\":[[1,2]]}}", 422, "bad_tensor", "/x/data", "flat", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"data\":[1,\"2\"]}}", 422, "bad_tensor", "/x/data/1", "number", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"data\":2}}", 422, "bad_tensor", "/x/data", "flat", 0, 0},
	{NORM, "{\"x\":{\"shape\":[],\"data\":[1]}}", 422, "bad_tensor", "/x", "axis", 0, 0},
	{NORM, "{\"x\":{\"shape\":[-1,4],\"data\":[1]}}", 422, "bad_value", "/x/shape/0", "0 or more", 0, "-1"},
	{NORM, "{\"x\":{\"shape\":[2.5],\"data\":[1]}}", 422, "bad_value", "/x/shape/0", "integer", 0, "2.5"},
	{NORM, "{\"x\":{\"shape\":\"2\",\"data\":[1]}}", 422, "bad_value", "/x/shape", "integers", 0, "\"2\""},
	{NORM, "{\"x\":{\"shape\":2,\"data\":[1,2]}}", 422, "bad_value", "/x/shape", "integers", 0, 0},
	{NORM, "{\"x\":{\"shape\":[\"2\"],\"data\":[1,2]}}", 422, "bad_tensor", "/x/shape/0", "number", 0, "\"2\""},
	{NORM, "{\"x\":{\"shape\":[4294967296,4294967296],\"data\":[1]}}", 422, "limit_exceeded", "/x/shape", "--max-elements", "4194304", "[4294967296,4294967296]"},
	{NORM, "{\"x\":{\"shape\":[0,9007199254740992,9007199254740992],\"data\":[]}}", 422, "limit_exceeded", "/x/shape", "--max-elements", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1e300],\"data\":[1]}}", 422, "bad_value", "/x/shape/0", "integer", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1,1,1,1,1,1,1,1,1],\"data\":[1]}}", 422, "bad_value", "/x/shape", "8", 0, 0},
	{NORM, "{\"x\":{\"shape\":[4,0],\"data\":[]}}", 422, "bad_value", "/x", "nothing to normalize", 0, "[4,0]"},
	{NORM, "{\"x\":{\"shape\":[2],\"base64\":\"AACAPwAAAEA=\",\"dtype\":\"f4\"}}", 422, "bad_value", "/x/dtype", "float32", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"base64\":\"AACAPwAAAEA\"}}", 400, "bad_base64", "/x/base64", "padded", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"base64\":\"AACAPwAAA*A=\"}}", 400, "bad_base64", "/x/base64", "alphabet", 0, 0},
	{NORM, "{\"x\":{\"shape\":[2],\"base64\":\"AACAPwAAAEA=\"}}", 400, "length_mismatch", "/x/base64", "16 bytes", "16", "8"},
	{NORM, "{\"x\":{\"shape\":[2],\"base64\":[1,2]}}", 422, "bad_value", "/x/base64", "base64", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1],\"dtype\":\"float32\",\"base64\":\"AADAfw==\"}}", 422, "bad_tensor", "/x/base64/0", "nonfinite", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1],\"dtype\":\"float32\",\"base64\":\"////fg==\"},\"dtype\":\"float16\"}", 422, "out_of_range", "/x/base64/0", "float16", 0, 0},

	/* the norm's fields */
	{NORM, "{\"x\":[3,4],\"epsilon\":-1}", 422, "bad_value", "/epsilon", "0 or more", 0, "-1"},
	{NORM, "{\"x\":[3,4],\"epsilon\":\"small\"}", 422, "bad_value", "/epsilon", "\"machine\"", 0, "\"small\""},
	{NORM, "{\"x\":[3,4],\"epsilon\":[1]}", 422, "bad_value", "/epsilon", "number", 0, 0},
	{NORM, "{\"x\":[3,4],\"epsilon\":null}", 422, "bad_value", "/epsilon", "leave the field out", 0, 0},
	{NORM, "{\"x\":[3,4],\"epsilon_placement\":\"inside\"}", 422, "bad_value", "/epsilon_placement", "inside_sqrt", 0, 0},
	{NORM, "{\"x\":[3,4],\"gain\":[1,2,3]}", 422, "shape_mismatch", "/gain", "[2]", "[2]", "[3]"},
	{NORM, "{\"x\":[3,4],\"gain\":[[1,2]]}", 422, "shape_mismatch", "/gain", "[1,2]", "[2]", "[1,2]"},
	{NORM, "{\"x\":[[3,4],[5,6]],\"gain\":[1,2],\"axes\":[0,1]}", 422, "shape_mismatch", "/gain", "normalized axes", "[2,2]", "[2]"},
	{NORM, "{\"x\":[3,4],\"weight\":[1,2,3]}", 422, "shape_mismatch", "/weight", "[2]", "[2]", "[3]"},
	{NORM, "{\"x\":[3,4],\"gain\":1,\"gamma\":1}", 422, "conflicting_fields", "/gamma", "gain and gamma", 0, 0},
	{NORM, "{\"x\":[3,4],\"gamma\":1,\"weight\":1}", 422, "conflicting_fields", "/weight", "gamma and weight", 0, 0},
	{LAYER, "{\"x\":[3,4],\"bias\":1,\"beta\":1}", 422, "conflicting_fields", "/beta", "bias and beta", 0, 0},
	{LAYER, "{\"x\":[3,4],\"beta\":[1]}", 422, "shape_mismatch", "/beta", "[2]", "[2]", "[1]"},
	{NORM, "{\"x\":[3,4],\"gain\":\"one\"}", 422, "bad_value", "/gain", "tensor or a number", 0, 0},
	{NORM, "{\"x\":[3,4],\"gain_offset\":\"1\"}", 422, "bad_value", "/gain_offset", "number", 0, "\"1\""},
	{NORM, "{\"x\":[3,4],\"gain_offset\":[1]}", 422, "bad_value", "/gain_offset", "number", 0, 0},
	{NORM, "{\"x\":[3,4],\"axes\":[]}", 422, "bad_value", "/axes", "at least one", 0, "[]"},
	{NORM, "{\"x\":[3,4],\"axes\":-1}", 422, "bad_value", "/axes", "list", 0, 0},
	{NORM, "{\"x\":[3,4],\"axes\":[1]}", 422, "bad_value", "/axes/0", "-1 to 0", 0, "1"},
	{NORM, "{\"x\":[3,4],\"axes\":[-2]}", 422, "bad_value", "/axes/0", "-1 to 0", 0, "-2"},
	{NORM, "{\"x\":[[3,4]],\"axes\":[1,-1]}", 422, "bad_value", "/axes/1", "twice", 0, "-1"},
	{NORM, "{\"x\":[[3,4]],\"axes\":[0.5]}", 422, "bad_value", "/axes/0", "integer", 0, "0.5"},
	{NORM, "{\"x\":[3,4],\"groups\":0}", 422, "bad_value", "/groups", "integer", 0, "0"},
	{NORM, "{\"x\":[3,4],\"groups\":1.5}", 422, "bad_value", "/groups", "integer", 0, "1.5"},
	{NORM, "{\"x\":[3,4,5],\"groups\":2}", 422, "bad_value", "/groups", "divide", 0, "2"},
	{NORM, "{\"x\":[3,4],\"cast_before_gain\":1}", 422, "bad_value", "/cast_before_gain", "true or false", 0, "1"},
	{NORM, "{\"x\":[3,4],\"convention\":\"lama\"}", 422, "bad_value", "/convention", "did you mean \"llama\"?", 0, "\"lama\""},
	{NORM, "{\"x\":[3,4],\"convention\":7}", 422, "bad_value", "/convention", "name", 0, 0},
	{NORM, "{\"x\":[3,4],\"convention\":\"bert\"}", 422, "conflicting_fields", "/convention", "layernorm", "\"rmsnorm\"", "\"layernorm\""},
	{LAYER, "{\"x\":[3,4],\"convention\":\"llama\"}", 422, "conflicting_fields", "/convention", "rmsnorm", 0, 0},

	/* what a norm is asked for */
	{NORM, "{\"x\":[3,4],\"dy\":[1]}", 422, "shape_mismatch", "/dy", "[2]", "[2]", "[1]"},
	{NORM, "{\"x\":[3,4],\"tangent\":[[1,2]]}", 422, "shape_mismatch", "/tangent", "[2]", "[2]", "[1,2]"},
	{NORM, "{\"x\":[3,4],\"jacobian\":\"full\"}", 422, "bad_value", "/jacobian", "\"dense\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"jacobian\":1}", 422, "bad_value", "/jacobian", "\"structured\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"normalized\":\"yes\"}", 422, "bad_value", "/normalized", "true or false", 0, 0},
	{NORM, "{\"x\":{\"shape\":[1,1025],\"base64\":\"\"},\"jacobian\":true}", 400, "length_mismatch", "/x/base64", "", 0, 0},
	{NORM, "{\"x\":[3,4],\"reference\":[1,2,3]}", 422, "shape_mismatch", "/reference", "[2]", "[2]", "[3]"},
	{NORM, "{\"x\":[3,4],\"reference\":{\"y\":[1,2],\"dx\":[1,2]}}", 422, "missing_field", "/reference/dx", "dy", 0, 0},
	{NORM, "{\"x\":[3,4],\"dy\":[1,2],\"reference\":{\"dbias\":[1,2]}}", 422, "unknown_field", "/reference/dbias", "RMSNorm", 0, 0},
	{NORM, "{\"x\":[3,4],\"reference\":{\"z\":[1,2]}}", 422, "unknown_field", "/reference/z", "\"z\"", 0, 0},
	{NORM, "{\"x\":[3,4],\"reference\":5}", 422, "bad_tensor", "/reference", "axis", 0, 0},
	{NORM, "{\"x\":[3,4],\"rtol\":-1}", 422, "bad_value", "/rtol", "0 or more", 0, 0},

	/* no value, not finite */
	{NORM, "{\"x\":[0,0],\"epsilon\":0}", 422, "no_value", "/x", "row 0", 0, "[]"},
	{NORM, "{\"x\":[[1,2],[0,0]],\"epsilon\":0}", 422, "no_value", "/x/1", "row 1", 0, "[1]"},
	{NORM, "{\"x\":[[[1],[0]]],\"epsilon\":0,\"nonfinite\":\"string\"}", 422, "no_value", "/x/0/1", "row [0,1]", 0, "[0,1]"},
	{NORM, "{\"x\":[[1,0],[2,0]],\"epsilon\":0,\"axes\":[0]}", 422, "no_value", "/x", "row 1", 0, "[1]"},
	{NORM, "{\"x\":[[1,2,0,0]],\"epsilon\":0,\"groups\":2}", 422, "no_value", "/x/0", "row [0,1]", 0, "[0,1]"},
	{NORM, "{\"x\":{\"shape\":[2,1],\"data\":[1,0]},\"epsilon\":0}", 422, "no_value", "/x", "row 1", 0, "[1]"},
	{LAYER, "{\"x\":[[1,2],[7,7]],\"epsilon\":0}", 422, "no_value", "/x/1", "row 1", 0, "[1]"},
	{NORM, "{\"x\":[[3e38,1]],\"dtype\":\"float32\",\"gain\":3e38,\"epsilon\":0}", 422, "not_finite", "/y/0/0", "\"nonfinite\": \"string\"", 0, "\"Infinity\""},
	{NORM, "{\"x\":[1e-300,-1e-300],\"epsilon\":0,\"dy\":[1e300,0]}", 422, "not_finite", "/dx/0", "dx/0", 0, 0},

	/* residual */
	{SUM, "{\"x\":[1,2]}", 422, "missing_field", "/update", "update", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1]}", 422, "shape_mismatch", "/update", "[2]", "[2]", "[1]"},
	{SUM, "{\"x\":[[1,2],[3,4]],\"update\":[1,2]}", 422, "shape_mismatch", "/update", "[2,2]", "[2,2]", "[2]"},
	{SUM, "{\"x\":[1,2],\"update\":1}", 422, "bad_tensor", "/update", "axis", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"skip_scale\":[1]}", 422, "bad_value", "/skip_scale", "number", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"sublayer_jacobian\":[1]}", 422, "shape_mismatch", "/sublayer_jacobian", "[2]", "[2]", "[1]"},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"sublayer_jacobian\":[[1,2]]}", 422, "shape_mismatch", "/sublayer_jacobian", "[2,2]", "[2,2]", "[1,2]"},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":{}}", 422, "missing_field", "/norm/kind", "kind", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":\"rmsnorm\"}", 422, "bad_value", "/norm", "object", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":{\"kind\":\"batchnorm\"}}", 422, "bad_value", "/norm/kind", "rmsnorm", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":{\"kind\":\"rmsnorm\",\"convention\":\"bert\"}}", 422, "conflicting_fields", "/norm/convention", "bert", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":{\"kind\":\"rmsnorm\",\"gain\":[1]}}", 422, "shape_mismatch", "/norm/gain", "[2]", "[2]", "[1]"},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"norm\":{\"kind\":\"rmsnorm\",\"epsilonn\":1}}", 422, "unknown_field", "/norm/epsilonn", "epsilon", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[1,2],\"dnormed\":[1,2]}", 422, "missing_field", "/norm", "dnormed", 0, 0},
	{SUM, "{\"x\":[1,2],\"update\":[-1,-2],\"norm\":{\"kind\":\"rmsnorm\",\"epsilon\":0}}", 422, "no_value", "/x", "row 0", 0, 0},
	{SUM, "{\"x\":[[1,2]],\"update\":[[1,2]],\"sublayer_jacobian\":[1,2],\"norm\":{\"kind\":\"rmsnorm\",\"axes\":[0]}}", 422, "conflicting_fields", "/norm/axes", "last axis", 0, 0},
	{SUM, "{\"x\":[1e308],\"update\":[1e308]}", 422, "not_finite", "/y/0", "nonfinite", 0, "\"Infinity\""},
};

static void expect_json(const struct wrong *w, const char *path, json_t *got, const char *want)
{
	if (!want)
		return;
	json_t *value = json_loads(want, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	ck_assert_ptr_nonnull(value);
	if (!json_equal(got, value)) {
		char *text = got ? json_dumps(got, JSON_ENCODE_ANY) : NULL;
		ck_abort_msg("%s %s: %s is %s, not %s", w->path, w->body, path, text ? text : "absent", want);
	}
	json_decref(value);
}

static void expect_wrong(struct client *client, const struct wrong *w)
{
	char type[80];
	int status = client_post(client, w->path, w->body);
	const char *detail = client_text(client, "detail");

	ck_assert_msg(status == w->status, "%s %s: status %d, %s", w->path, w->body, status, detail);
	ck_assert_str_eq(client->answer.content_type, "application/problem+json");
	ck_assert_msg(client->json != NULL, "%s %s: %.*s", w->path, w->body, (int)client->answer.body_len, client->answer.body);
	snprintf(type, sizeof type, "urn:normd:problem:%s", w->name);
	ck_assert_msg(strcmp(client_text(client, "type"), type) == 0, "%s %s: %s, %s", w->path, w->body, client_text(client, "type"), detail);
	ck_assert_double_eq(client_number(client, "status"), w->status);
	ck_assert_str_eq(client_text(client, "instance"), "test-id");
	ck_assert(client_text(client, "title")[0] != 0);
	ck_assert_msg(strstr(detail, w->word) != NULL, "%s %s: %s", w->path, w->body, detail);
	if (!w->pointer) {
		ck_assert_msg(client_number(client, "line") >= 1 && client_number(client, "column") >= 1 && client_number(client, "offset") >= 0,
		              "%s %s has no place", w->path, w->body);
		return;
	}
	ck_assert_msg(client_at(client, "errors.0.pointer") != NULL, "%s %s: no pointer", w->path, w->body);
	ck_assert_msg(strcmp(client_text(client, "errors.0.pointer"), w->pointer) == 0, "%s %s: pointer %s", w->path, w->body,
	              client_text(client, "errors.0.pointer"));
	ck_assert_str_eq(client_text(client, "errors.0.detail"), detail);
	expect_json(w, "expected", client_at(client, "errors.0.expected"), w->expected);
	expect_json(w, "got", client_at(client, "errors.0.got"), w->got);
}

START_TEST(every_wrong_request)
{
	struct client *client = client_open();
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
		expect_wrong(client, &wrongs[i]);
	client_close(client);
}
END_TEST

/* The place is that of the text as it was sent, although jansson saw another one. */
START_TEST(places_are_those_of_the_text)
{
	static const struct {
		const char *body;
		double line, column, offset;
	} places[] = {
		{"{\"x\":[1,2,3],\n \"epsilon\":1e-5,\n \"epsilon\":2}", 3, 2, 32},
		{"{\"x\":[1,2,3],\n \"dtype\":\"\\q\"}", 2, 11, 24},
		{"{\"x\":[1,2,3]\n \"dtype\":\"float32\"}", 2, 2, 14},
		{"{\"x\":[[1,2,3],\n[4,5,6]\n[7,8,9]]}", 3, 1, 23},
	};
	struct client *client = client_open();
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		ck_assert_int_eq(client_post(client, "/rmsnorm", places[i].body), 400);
		ck_assert_msg(client_number(client, "line") == places[i].line && client_number(client, "column") == places[i].column &&
		                      client_number(client, "offset") == places[i].offset,
		              "%s: line %g, column %g, offset %g: %s", places[i].body, client_number(client, "line"),
		              client_number(client, "column"), client_number(client, "offset"), client_text(client, "detail"));
	}
	client_close(client);
}
END_TEST

START_TEST(long_names_are_cut)
{
	static char body[100000];
	struct client *client = client_open();
	size_t n = (size_t)sprintf(body, "{\"x\":[1],\"");
	for (; n < sizeof body - 10; n += 2)
		memcpy(body + n, "µ", 2);
	strcpy(body + n, "\":1}");
	ck_assert_int_eq(client_post(client, "/rmsnorm", body), 422);
	ck_assert_ptr_nonnull(client->json);
	ck_assert_uint_lt(strlen(client_text(client, "detail")), 300);
	client_close(client);
}
END_TEST

TEST_MAIN(every_wrong_request, places_are_those_of_the_text, long_names_are_cut)
