// Users, access tokens and to-dos on LoopBack 3, in two processes, as wsgi.py serves them.
'use strict';

const cluster = require('cluster');
const loopback = require('loopback');

const WORKERS = 2;

const app = module.exports = loopback();
app.set('restApiRoot', '/api');
app.set('legacyExplorer', false);
app.set('remoting', {context: false, rest: {handleErrors: true}, errorHandler: {log: false}});

// Everything is kept in PostgreSQL: users, tokens, roles, ACLs and to-dos.
const db = app.dataSource('db', {
  connector: require('loopback-connector-postgresql'),
  host: process.env.PGHOST,
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
});
for (const name of ['User', 'AccessToken', 'ACL', 'RoleMapping', 'Role']) {
  app.model(loopback[name], {dataSource: db, public: name === 'User'});
}

const Todo = app.registry.createModel('todo', {
  title: {type: 'string', required: true},
  desc: {type: 'string'},
  isComplete: {type: 'boolean', default: false},
  created: {type: 'date', defaultFn: 'now'},
}, {
  base: 'PersistedModel',
  // An answer has all properties: desc is null when it is not given.
  persistUndefinedAsNull: true,
  relations: {owner: {type: 'belongsTo', model: 'User', foreignKey: 'ownerId'}},
  // Whoever is logged in may create, and list what is theirs; everything else is the owner's.
  acls: [
    {principalType: 'ROLE', principalId: '$everyone', permission: 'DENY'},
    {principalType: 'ROLE', principalId: '$authenticated', permission: 'ALLOW', property: 'create'},
    {principalType: 'ROLE', principalId: '$authenticated', permission: 'ALLOW', property: 'find'},
    {principalType: 'ROLE', principalId: '$owner', permission: 'ALLOW'},
  ],
});
app.model(Todo, {dataSource: db});
Todo.beforeRemote('create', (context, _, next) => {
  context.args.data.ownerId = context.req.accessToken.userId;
  next();
});

Todo.beforeRemote('find', (context, _, next) => {
  const filter = context.args.filter || {};
  const own = {ownerId: context.req.accessToken.userId};
  context.args.filter = {...filter, where: {and: [filter.where || {}, own]}};
  next();
});

// The number of all rows, if requested, as applications for LoopBack 3 commonly send it.
Todo.afterRemote('find', (context, _, next) => {
  if (!context.req.query.count) return next();
  Todo.count(context.args.filter.where, (error, count) => {
    if (!error) context.res.set('X-Total-Count', count);
    next(error);
  });
});

app.enableAuth({dataSource: db});
app.use(loopback.token());
app.use('/api', loopback.rest());

if (process.argv[2] === 'migrate') {
  db.autoupdate().then(() => process.exit(), (error) => {
    console.error(error);
    process.exit(1);
  });
} else if (cluster.isMaster) {
  for (let i = 0; i < WORKERS; i++) cluster.fork();
} else {
  app.listen(process.env.PORT, '127.0.0.1');
}
