// Write recorded.json: what LoopBack 3's REST connector sends and returns for the cases and probes.
//
//   npm ci --prefix tests/connector/loopback3 && npm run record --prefix tests/connector/loopback3
'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');
const {DataSource} = require('loopback-datasource-juggler');
const connector = require('loopback-connector-rest');

const FOLDERS = ['cases', 'probes'];
const RECORDED = path.join(__dirname, 'recorded.json');
const CALL_TIMEOUT = 3000;
// Headers that say how, and not what, is sent.
const OMITTED = new Set([
  'connection', 'content-length', 'date', 'host', 'keep-alive', 'transfer-encoding',
]);

const state = {answers: {}, sent: [], observed: [], crashed: null};

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const [rawPath, query] = request.url.split(/\?(.*)/s);
    state.sent.push(withoutUndefined({
      method: request.method,
      path: rawPath,
      query,
      headers: kept(request.headers),
      body: chunks.length ? Buffer.concat(chunks).toString() : undefined,
    }));
    reply(response, answerTo(request.method, rawPath));
  });
});

function answerTo(method, rawPath) {
  const {answers} = state;
  return answers[`${method} ${decodeURIComponent(rawPath)}`] || answers['*'] || {json: {ok: true}};
}

function reply(response, answer) {
  if (answer.reset) return response.destroy();
  const type = 'json' in answer ? {'content-type': 'application/json'} : {};
  response.writeHead(answer.status || 200, {...type, ...answer.headers});
  response.end('json' in answer ? JSON.stringify(answer.json) : answer.text);
}

function kept(headers) {
  const names = Object.keys(headers).filter((name) => !OMITTED.has(name)).sort();
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}

function withoutUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

async function recordCase(entry) {
  let source;
  let models;
  try {
    source = new DataSource({...structuredClone(entry.settings), connector});
    models = Object.fromEntries(Object.entries(entry.models || {}).map(
      ([name, {properties, options}]) => [name, source.createModel(name, properties, options)]));
  } catch (error) {
    return {loads: false, message: error.message};
  }
  for (const hook of entry.hooks || []) source.connector.observe(hook.event, observer(hook));
  state.answers = entry.answers || {};
  const calls = [];
  for (const call of entry.calls) calls.push(await recordCall(source, models, call));
  return {loads: true, calls};
}

function observer({read = [], set = {}, end}) {
  return (context, next) => {
    for (const name of read) state.observed.push([name, plain(valueAt(context, name.split('.')))]);
    for (const [name, value] of Object.entries(set)) {
      const keys = name.split('.');
      const last = keys.pop();
      valueAt(context, keys)[last] = value;
    }
    if (end === undefined) next();
    else context.end(null, {statusCode: 200, headers: {}, body: end}, end);
  };
}

function valueAt(value, keys) {
  return keys.reduce((inner, key) => inner[key], value);
}

async function recordCall(source, models, call) {
  Object.assign(state, {sent: [], observed: [], crashed: null});
  let outcome;
  try {
    let target = call.model ? models[call.model] : source;
    for (const step of [call, ...(call.then || [])]) {
      outcome = await perform(target, step);
      target = outcome.value;
    }
  } catch (error) {
    outcome = {error};
  }
  const {sent, observed} = state;
  return {sent, ...(observed.length ? {observed} : {}), ...described(outcome, call)};
}

function perform(target, step) {
  const method = step.function || step.method || 'invoke';
  const given = 'invoke' in step ? [step.invoke] : step.arguments || [step.keywords].filter(Boolean);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no answer')), CALL_TIMEOUT);
    const settle = (outcome) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    state.crashed = (error) => settle({error});
    const callback = (error, value, response) => settle({error, value, response});
    try {
      if (step.callback) target[method](...given, callback);
      else target[method](...given).then((value) => settle({value}), (error) => settle({error}));
    } catch (error) {
      clearTimeout(timer);
      error.thrown = true;
      reject(error);
    }
  });
}

function described({error, value, response}, call) {
  const callback = call.callback && response
    ? {callback: {status: response.statusCode, body: plain(response.body)}}
    : {};
  if (error) return {error: describedError(error), ...callback};
  return {returned: plain(value), ...callback};
}

function describedError(error) {
  if (typeof error === 'string') return {kind: 'text', message: error};
  if (error.statusCode) return {kind: 'status', status: error.statusCode};
  if (error.thrown) return {kind: 'thrown', message: error.message};
  if (error.code) return {kind: 'transport', code: error.code};
  return {kind: 'failed', message: error.message};
}

function plain(value) {
  if (value === undefined) return null;
  if (value instanceof http.IncomingMessage) {
    return {statusCode: value.statusCode, headers: kept(value.headers), body: plain(value.body)};
  }
  return JSON.parse(JSON.stringify(value));
}

function readCases(port) {
  const address = `127.0.0.1:${port}`;
  const files = FOLDERS.flatMap((folder) => fs.readdirSync(path.join(__dirname, folder)).sort()
    .map((file) => path.join(__dirname, folder, file)));
  return files.map((file) => {
    const text = fs.readFileSync(file, 'utf8')
      .replaceAll('REMOTE_HOST', '127.0.0.1').replaceAll('REMOTE_PORT', port)
      .replaceAll('REMOTE', address);
    return JSON.parse(text);
  });
}

async function main() {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address();
  process.on('uncaughtException', (error) => state.crashed(error));
  const recorded = {};
  for (const group of readCases(port)) {
    for (const [name, entry] of Object.entries(group)) recorded[name] = await recordCase(entry);
  }
  const text = JSON.stringify(recorded, null, 1)
    .replaceAll(/-{20,}\d+/g, 'BOUNDARY')
    .replaceAll(`127.0.0.1:${port}`, 'REMOTE').replaceAll('127.0.0.1', 'REMOTE_HOST')
    .replaceAll(String(port), 'REMOTE_PORT');
  fs.writeFileSync(RECORDED, text + '\n');
  process.exit();
}

main();
