// Print whether LoopBack 3, on its memory connector, permits the calls that it reads as JSON.
//
// Called by `python -m tests.access.loopback3`, where its packages are installed.
'use strict';

const fs = require('fs');
const http = require('http');

const loopback = require(require.resolve('loopback', {paths: [process.cwd()]}));

const REFUSED = 'r';
const MISSING = 'm';
const PERMITTED = 'p';
// Any hash of bcrypt, which no password has.
const HASH = '$2a$04$' + 'x'.repeat(53);

const agent = new http.Agent({keepAlive: true, maxSockets: 1});

async function main() {
  const {models, rows, roles, sets} = JSON.parse(fs.readFileSync(0, 'utf8'));
  const decisions = [];
  for (const set of sets) {
    const {app, db, users, Token} = makeApp(models, set.models);
    await fill(app, db, users, Token, rows, roles);
    decisions.push(await decide(app, db, set.calls));
  }
  process.stdout.write(JSON.stringify(decisions), () => process.exit());
}

function makeApp(models, settings) {
  const app = loopback({localRegistry: true, loadBuiltinModels: true});
  app.set('legacyExplorer', false);
  app.set('remoting', {errorHandler: {log: false}});
  const db = app.dataSource('db', {connector: 'memory'});
  for (const name of ['ACL', 'Role', 'RoleMapping', 'User']) {
    app.model(app.registry.getModel(name), {dataSource: db, public: false});
  }
  const users = Object.keys(models).filter((name) => models[name].base === 'User');
  const hasSeveral = users.length > 1;
  // Only of a model of one's own can the user be of several models.
  const polymorphic = {foreignKey: 'userId', discriminator: 'principalType'};
  const Token = hasSeveral ? app.registry.createModel({
    name: 'Session',
    base: 'AccessToken',
    relations: {
      user: {type: 'belongsTo', idName: 'id', polymorphic: {...polymorphic, idType: 'number'}},
    },
  }) : app.registry.getModel('AccessToken');
  for (const [name, declared] of Object.entries(models)) {
    const {properties, base, ...options} = declared;
    if (hasSeveral && users.includes(name)) {
      const accessTokens = {type: 'hasMany', model: Token.modelName, polymorphic};
      options.relations = {...options.relations, accessTokens};
    }
    app.model(app.registry.createModel({
      ...options, name, base, properties: properties || {}, saltWorkFactor: 4, ...settings[name],
    }), {dataSource: db});
  }
  app.model(Token, {
    dataSource: db,
    public: false,
    ...!hasSeveral && {
      relations: {user: {type: 'belongsTo', model: users[0], foreignKey: 'userId'}},
    },
  });
  for (const name of users) app.models[name].email = {send: (...given) => given.pop()(null, {})};
  app.enableAuth();
  app.use(loopback.token({model: Token}));
  app.use('/api', loopback.rest());
  return {app, db, users, Token};
}

async function fill(app, db, users, Token, rows, roles) {
  const {connector} = db;
  for (const [name, each] of Object.entries(rows)) {
    for (const [index, row] of each.entries()) {
      const id = row.id || index + 1;
      const stored = row.email ? {...row, id, password: HASH} : {...row, id};
      connector.cache[name] = {...connector.cache[name], [id]: JSON.stringify(stored)};
      connector.ids[name] = id + 1;
    }
  }
  const {Role, RoleMapping} = app.models;
  const types = {};
  for (const name of users) {
    for (const {id} of rows[name]) {
      types[id] = users.length > 1 ? name : 'USER';
      const principal = users.length > 1 ? {principalType: name} : {};
      await Token.create({id: tokenOf(id), userId: id, ttl: 1209600, ...principal});
    }
  }
  for (const [name, userId] of Object.entries(roles)) {
    const {id} = await Role.create({name});
    await RoleMapping.create({
      roleId: id, principalType: types[userId], principalId: String(userId),
    });
  }
}

function tokenOf(id) {
  return String(id).repeat(64);
}

async function decide(app, db, calls) {
  const {connector} = db;
  const stored = structuredClone({cache: connector.cache, ids: connector.ids});
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const {port} = server.address();
  let decisions = '';
  for (const [caller, verb, path, body] of calls) {
    const status = await request(port, caller, verb, path, body);
    decisions += [401, 403].includes(status) ? REFUSED : status === 404 ? MISSING : PERMITTED;
    Object.assign(connector, structuredClone(stored));
  }
  server.closeAllConnections();
  server.close();
  return decisions;
}

function request(port, caller, verb, path, body) {
  const headers = caller === null ? {} : {authorization: tokenOf(caller)};
  if (body !== null) headers['content-type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const sent = http.request({
      agent, port, method: verb, path: `/api${encodeURI(path)}`, headers,
    }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(body === null ? undefined : JSON.stringify(body));
  });
}

main();
