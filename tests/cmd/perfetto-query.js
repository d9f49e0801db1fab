// SPDX-License-Identifier: MIT
// Open a trace with Perfetto's own trace processor (WebAssembly) and ask it in SQL.
//
// usage: node perfetto-query.js PACKAGE-DIRECTORY TRACE SQL...
//
// Prints one JSON array a query, of rows that are arrays. The program is the one that ui.perfetto.dev
// runs in a worker; here it gets the few things of a worker that it asks for, and is spoken to in its
// protocol (protos/perfetto/trace_processor/trace_processor.proto), of which this is the small part
// that is needed.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [, , folder, trace, ...queries] = process.argv;

// ---- protocol buffers

function varint(number) {
  const bytes = [];
  let left = BigInt.asUintN(64, BigInt(number));
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

function field(id, value) {
  if (typeof value === 'number') return Buffer.concat([varint(id << 3), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((id << 3) | 2), varint(bytes.length), bytes]);
}

function* fields(bytes) {
  let at = 0;
  const next = () => {
    let result = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      result |= BigInt(byte & 127) << shift;
      if (byte < 128) return result;
    }
  };
  while (at < bytes.length) {
    const key = Number(next());
    let value;
    if ((key & 7) === 0) {
      value = next();
    } else if ((key & 7) === 1) {
      value = bytes.subarray(at, at += 8);
    } else if ((key & 7) === 5) {
      value = bytes.subarray(at, at += 4);
    } else {
      const size = Number(next());
      value = bytes.subarray(at, at += size);
    }
    yield [key >> 3, value];
  }
}

function varints(bytes) {
  const result = [];
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      result.push(BigInt.asIntN(64, value));
      value = shift = 0n;
    }
  }
  return result;
}

// ---- the worker

const port = {postMessage(data) { received = Buffer.concat([received, Buffer.from(data)]); }};
let received = Buffer.alloc(0);
const worker = {
  console: {log() {}, warn(line) { process.stderr.write(line + '\n'); }, error(line) { process.stderr.write(line + '\n'); }},
  TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout,
  importScripts() {},
  location: {href: 'http://here/engine_bundle.js'},
  // The program is fetched at once and without asking back.
  XMLHttpRequest: class {
    open() {}
    send() {
      const bytes = fs.readFileSync(path.join(folder, 'trace_processor.wasm'));
      this.status = 200;
      this.response = new Uint8Array(bytes).buffer;
    }
  },
};
worker.self = worker;
vm.createContext(worker);
const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8')
    // The bridge is told when the program is ready; so are we.
    .replace('const wasmBridge = new wasm_bridge.WasmBridge();',
             'const wasmBridge = new wasm_bridge.WasmBridge(); selfWorker.ready = wasmBridge.whenInitialized;');
vm.runInContext(code, worker);
const Bytes = vm.runInContext('Uint8Array', worker);

// ---- the conversation

const APPEND = 1, FINALIZE = 2, QUERY = 3;
let sequence = 0;

// A request is answered before the call returns.
function ask(method, args) {
  const message = Buffer.concat([field(1, sequence++), field(2, method), args || Buffer.alloc(0)]);
  received = Buffer.alloc(0);
  port.onmessage({data: new Bytes(field(1, message))});
  const answers = [];
  for (const [, answer] of fields(received)) {
    const parts = [...fields(answer)];
    for (const [id, value] of parts) {
      if (id === 5) throw new Error('trace processor: ' + Buffer.from(value));
    }
    answers.push(parts);
  }
  return answers;
}

function cells(batch, columns, rows) {
  let types = [], numbers = [], strings = [], floats = [];
  for (const [id, value] of fields(batch)) {
    if (id === 1) types = varints(value).map(Number);
    if (id === 2) numbers = varints(value);
    if (id === 3) for (let i = 0; i < value.length; i += 8) floats.push(Buffer.from(value).readDoubleLE(i));
    if (id === 5) strings = Buffer.from(value).toString('utf8').split('\0');
  }
  types.forEach((type, i) => {
    if (i % columns === 0) rows.push([]);
    const row = rows[rows.length - 1];
    if (type === 2) row.push(numbers.shift());
    else if (type === 3) row.push(floats.shift());
    else if (type === 4) row.push(strings.shift());
    else row.push(null);
  });
}

function query(sql) {
  const rows = [];
  let columns = 0;
  for (const answer of ask(QUERY, field(103, field(1, sql)))) {
    for (const [id, result] of answer) {
      if (id !== 203) continue;
      const parts = [...fields(result)];
      columns = columns || parts.filter(([part]) => part === 1).length;
      for (const [part, value] of parts) {
        if (part === 2) throw new Error(`${sql}: ${Buffer.from(value)}`);
        if (part === 3) cells(value, columns, rows);
      }
    }
  }
  return rows;
}

// Numbers of 64 bits are printed with all their digits.
function print(rows) {
  const text = rows.map((row) => '[' + row.map((cell) => typeof cell === 'bigint' ? String(cell)
      : typeof cell === 'number' && !Number.isFinite(cell) ? JSON.stringify(String(cell))
      : typeof cell === 'number' && Number.isInteger(cell) ? cell.toFixed(1) : JSON.stringify(cell)).join(',') + ']');
  process.stdout.write('[' + text.join(',') + ']\n');
}

worker.ready.then(() => {
  worker.onmessage({data: {enginePort: port}});
  const bytes = fs.readFileSync(trace);
  const step = 4 << 20;
  for (let at = 0; at < bytes.length; at += step) ask(APPEND, field(101, bytes.subarray(at, at + step)));
  ask(FINALIZE);
  for (const sql of queries) print(query(sql));
}).catch((error) => {
  process.stderr.write(String(error && error.stack || error) + '\n');
  process.exit(1);
});
