// RMSNorm over JSON as one would write it for Node: JSON.parse, float32 values, sums in float64, one process for
// each processor.
//
// http_node.js PORT WORKERS
"use strict";
const cluster = require("node:cluster");
const http = require("node:http");

const EPSILON = 1e-5;
const [port, workers] = process.argv.slice(2).map(Number);

function normalizeRow(values) {
	const x = Float32Array.from(values);
	let sum = 0;
	for (let i = 0; i < x.length; i++)
		sum += x[i] * x[i];
	const rms = Math.sqrt(sum / x.length + EPSILON);
	for (let i = 0; i < x.length; i++)
		values[i] = Math.fround(x[i] / rms);
	return values;
}

function rmsnorm(x) {
	return Array.isArray(x[0]) ? x.map(rmsnorm) : normalizeRow(x);
}

function answer(request, response) {
	const pieces = [];
	request.on("data", piece => pieces.push(piece));
	request.on("end", () => {
		const { x } = JSON.parse(Buffer.concat(pieces).toString());
		const body = Buffer.from(JSON.stringify({ y: rmsnorm(x) }));
		response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
		response.end(body);
	});
}

if (workers > 1 && cluster.isPrimary) {
	for (let i = 0; i < workers; i++)
		cluster.fork();
	process.on("SIGTERM", () => {
		for (const worker of Object.values(cluster.workers))
			worker.process.kill();
		process.exit();
	});
} else {
	http.createServer(answer).listen(port, "127.0.0.1");
}
