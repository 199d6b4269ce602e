// Print what LoopBack 3, on its memory connector, sends to change streams while rows are written.
//
// Reads the cases as JSON: for each, how a stream is opened, and the calls that are made meanwhile.
// Called by `python -m tests.changes.loopback3`, where its packages are installed.
'use strict';

const fs = require('fs');
const http = require('http');

const loopback = require(require.resolve('loopback', {paths: [process.cwd()]}));

// Milliseconds after a call in which what follows from it has been sent.
const PAUSE = 150;

async function main() {
  const {model, cases} = JSON.parse(fs.readFileSync(0, 'utf8'));
  const recorded = [];
  for (const {name, stream, calls} of cases) {
    recorded.push({name, stream, calls, sent: await record(model, stream, calls)});
  }
  process.stdout.write(JSON.stringify(recorded), () => process.exit());
}

async function record(model, stream, calls) {
  const app = loopback({localRegistry: true, loadBuiltinModels: true});
  app.set('legacyExplorer', false);
  const db = app.dataSource('db', {connector: 'memory'});
  app.model(app.registry.createModel(model), {dataSource: db});
  app.use('/api', loopback.rest());
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const {port} = server.address();
  const received = [];
  const [method, path, body] = stream;
  const opened = request(port, method, path, body);
  opened.on('error', () => {});
  opened.on('response', (response) => response.on('data', (data) => received.push(data)));
  await pause();
  for (const [verb, url, sent] of calls) {
    request(port, verb, url, sent).on('response', (response) => response.resume());
    await pause();
  }
  opened.destroy();
  server.close();
  return Buffer.concat(received).toString();
}

function request(port, method, path, body) {
  const headers = body ? {'content-type': 'application/json'} : {};
  const sent = http.request({port, method, path: `/api${encodeURI(path)}`, headers});
  sent.end(body ? JSON.stringify(body) : undefined);
  return sent;
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, PAUSE));
}

main();
