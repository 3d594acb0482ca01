// Sends events with the JavaScript CloudEvents SDK: a job on standard input, a list of results on standard output.
import { createRequire } from "node:module";
import http from "node:http";
import { text } from "node:stream/consumers";

const require = createRequire(`${process.env.NODE_PACKAGES}/package.json`);
const { CloudEvent, HTTP, emitterFor } = require("cloudevents");
const BATCH = "application/cloudevents-batch+json";

const job = JSON.parse(await text(process.stdin));
const results = [];
for (const { url, event } of job.deliveries) results.push(await deliver(url, event));
process.stdout.write(JSON.stringify(results));

async function deliver(url, eventText) {
  let event;
  try {
    event = new CloudEvent(JSON.parse(eventText));
  } catch (error) {
    return { refused: firstLine(error) };
  }
  // The SDK has no batches: an array of its structured event.
  const mode = job.mode === "binary" ? "binary" : "structured";
  const send = (message) => request(url, job.mode === "batched" ? inBatch(message) : message);
  const result = await emitterFor(send, { mode })(event);
  if (result.status === 200) {
    const read = HTTP.toEvent(result);
    result.batch = Array.isArray(read);
    result.replies = result.batch ? read : [read];
  }
  return result;
}

function inBatch(message) {
  return { headers: { "content-type": BATCH }, body: `[${message.body}]` };
}

// Like the SDK's own transport, which does not tell the status: Node writes header texts as Latin-1.
function request(url, message) {
  const body = Buffer.from(message.body ?? "");
  const headers = { ...message.headers, ...job.headers, "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sending = http.request(url, { method: "POST", headers, agent: false }, async (answer) => {
      const sent = { headers: lowerCase(message.headers), body: body.toString("base64") };
      resolve({ sent, status: answer.statusCode, headers: answer.headers, body: await text(answer) });
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

function lowerCase(headers) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function firstLine(error) {
  return String(error.message).split("\n")[0];
}
