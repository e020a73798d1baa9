// Reads cases, one JSON object a line, and answers each with what parsers of Node.js read.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { parse as parseQuery } from "node:querystring";

const require = createRequire(import.meta.url);
const busboy = require("busboy");
const qs = require("qs");
const { parseContentType } = require("busboy/lib/utils.js");

const base64 = (value) => Buffer.from(value, "utf8").toString("base64");

// Fields and files as Express' multer and Fastify's multipart get them.
function readForm(contentType, body) {
  return new Promise((resolve) => {
    const fields = [], files = [];
    const fail = () => resolve({ error: true });
    try {
      const parser = busboy({ headers: { "content-type": contentType } });
      parser.on("field", (name, value) => fields.push([base64(name), base64(value)]));
      parser.on("file", (name, stream, { filename }) => {
        const chunks = [];
        stream.on("data", (chunk) => chunks.push(chunk));
        stream.on("error", fail);
        stream.on("end", () => files.push([
          base64(name), filename === undefined ? null : base64(filename), Buffer.concat(chunks).toString("base64"),
        ]));
      });
      parser.on("error", fail);
      parser.on("close", () => resolve({ fields, files }));
      parser.end(body);
    } catch {
      fail();
    }
  });
}

const pairsOf = (entries) => ({ fields: [...entries].map(([name, value]) => [base64(name), base64(value)]) });

function flatten(members) {
  return Object.entries(members).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
}

// What Express reads, with its settings: the first segment of each name, and each value below it.
function readNested(text) {
  const leaves = (value) => (value !== null && typeof value === "object" ? Object.values(value).flatMap(leaves) : [value]);
  const members = Object.entries(qs.parse(text, { allowPrototypes: true }));
  return pairsOf(members.flatMap(([name, value]) => leaves(value).map((one) => [name, String(one)])));
}

const readers = {
  multipart: async (one) => ({ busboy: await readForm(one.content_type, one.body) }),
  form: async (one) => ({
    busboy: await readForm(one.content_type, one.body),
    querystring: pairsOf(flatten(parseQuery(one.body.toString("utf8")))),
    qs: readNested(one.body.toString("utf8")),
    urlsearchparams: pairsOf(new URLSearchParams(one.body.toString("utf8"))),
  }),
  query: async (one) => ({
    querystring: pairsOf(flatten(parseQuery(one.body.toString("utf8")))),
    qs: readNested(one.body.toString("utf8")),
    whatwg_url: pairsOf(new URL(`http://h/?${one.body.toString("utf8")}`).searchParams),
  }),
  json: async (one) => {
    try {
      return { json_parse: { value: JSON.parse(one.body.toString("utf8")) } };
    } catch {
      return { json_parse: { error: true } };
    }
  },
  content_type: async (one) => {
    const parsed = parseContentType(one.content_type);
    if (parsed === undefined) return { busboy: { error: true } };
    const { type, subtype, params } = parsed;
    return { busboy: { type: `${type}/${subtype}`, charset: params.charset ?? "", boundary: params.boundary ?? "" } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const one = JSON.parse(line);
  const answer = await readers[one.kind]({ ...one, body: Buffer.from(one.body, "base64") });
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
