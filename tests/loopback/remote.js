'use strict';

// A client with loopback-connector-remote: `node remote.js APPLICATION URL`, with ids and tokens as
// JSON in the standard input. Makes the same calls as any client of that connector would, and
// prints, for each, a line of JSON: its name, the status, the answer, and the name of what to keep.

const fs = require('fs');
const path = require('path');
const loopback = require('loopback');

const [folder, url] = process.argv.slice(2);
const kept = JSON.parse(fs.readFileSync(0, 'utf8'));
const app = loopback();
const remote = loopback.createDataSource({
  connector: require('loopback-connector-remote'),
  url,
});
const MODELS = ['member', 'category', 'workshop', 'manual', 'loan', 'picture', 'tool'];
const {Member, Category, Workshop, Loan, Tool} = attachModels();

function attachModels() {
  const models = {};
  for (const name of MODELS) {
    const file = path.join(folder, 'common', 'models', `${name}.json`);
    const definition = JSON.parse(fs.readFileSync(file, 'utf8'));
    // Its rows are in the answers of others, or reached by other models of LoopBack itself.
    delete (definition.relations || {}).remarks;
    delete (definition.relations || {}).roles;
    const properties = definition.properties;
    const hasId = Object.keys(properties).some(property => properties[property].id);
    // Those of MongoDB, which the files do not declare: a remote data source has numbers.
    if (!hasId && isNaN(kept.ada)) properties.id = {type: 'string', id: true, generated: true};
    models[definition.name] = loopback.createModel(definition);
  }
  models.Tool.lend = models.Tool.statistics = function() {};
  models.Tool.remoteMethod('lend', {
    accepts: [
      {arg: 'id', type: 'any', required: true, http: {source: 'path'}},
      {arg: 'days', type: 'number', required: true},
    ],
    returns: {arg: 'loan', type: 'Loan', root: true},
    http: {path: '/:id/lend', verb: 'post'},
  });
  models.Tool.remoteMethod('statistics', {
    returns: [{arg: 'tools', type: 'number'}, {arg: 'lent', type: 'number'}],
    http: {path: '/statistics', verb: 'get'},
  });
  for (const name of Object.keys(models)) app.model(models[name], {dataSource: remote});
  return models;
}

// Both ways in which the connector sends a token; LoopBack 3 decodes a bearer token from Base64.
const asAda = {accessToken: {id: kept['token of ada']}};
const bearer = Buffer.from(kept['token of librarian']).toString('base64');
// Otherwise the token is sent only after a 401 that asks for it, as LoopBack 3's do not.
const asLibrarian = {bearer, sendImmediately: true};
const nina = {email: 'nina@example.com', password: 'a level and a plumb line'};
const CALLS = [
  ['register', null, () => Member.create({...nina, name: 'Nina'}), 'nina'],
  ['register again', null, () => Member.create({...nina, name: 'Nina'})],
  ['log in', null, () => Member.login(nina), 'token of nina'],
  ['log in with user', null, () => Member.login(nina, 'user'), 'another token of nina'],
  ['log in wrongly', null, () => Member.login({email: nina.email, password: 'wrong'})],
  ['list without a token', null, () => Member.find()],
  ['read oneself', asAda, () => Member.findById(kept.ada)],
  ['read another', asAda, () => Member.findById(kept.grace)],
  ['create', asAda, () => Tool.create({name: 'Rasp', weight: 300, tags: ['wood']}), 'rasp'],
  ['create what is invalid', asAda, () => Tool.create({name: 'Rasp', state: 'lost'})],
  ['create without a token', null, () => Tool.create({name: 'Rasp'})],
  ['list', null, () => Tool.find({order: 'name'})],
  ['list with where', null, () => Tool.find({where: {weight: {gt: 200}}, order: 'name DESC'})],
  ['list with fields', null, () => Tool.find({fields: ['id', 'name'], order: 'name', limit: 2})],
  ['list with include', null, () => Tool.find({include: ['categories', 'workshop'], order: 'name'})],
  ['list with a bad filter', null, () => Tool.find({limit: -1})],
  ['list of a role', asLibrarian, () => Member.find({order: 'name', fields: ['id', 'name']})],
  ['find one', null, () => Tool.findOne({where: {name: 'Rasp'}})],
  ['find none', null, () => Tool.findOne({where: {name: 'Anvil'}})],
  ['find by id', null, () => Tool.findById(kept.saw, {include: 'manual'})],
  ['find none by id', null, () => Workshop.findById('west')],
  ['exists', null, () => Tool.exists(kept.saw)],
  ['exists not', null, () => Workshop.exists('west')],
  ['count', null, () => Tool.count({state: 'good'})],
  ['relation', null, () => new Tool({id: kept.saw}).__get__categories()],
  ['relation with filter', null, () => new Category({id: kept.wood}).__get__tools({order: 'name'})],
  ['related row', null, () => new Tool({id: kept.saw}).__get__workshop()],
  ['count of a relation', null, () => new Tool({id: kept.saw}).__count__categories()],
  ['link', asAda, () => new Tool({id: kept.rasp}).__link__categories(kept.wood)],
  ['is linked', null, () => new Tool({id: kept.rasp}).__get__categories()],
  ['unlink', asAda, () => new Tool({id: kept.rasp}).__unlink__categories(kept.wood)],
  ['update attributes', asAda, () => new Tool({id: kept.rasp}).updateAttributes({state: 'worn'})],
  ['update of another', asLibrarian, () => new Tool({id: kept.rasp}).updateAttributes({weight: 1})],
  ['update without a token', null, () => new Tool({id: kept.rasp}).updateAttributes({weight: 2})],
  ['upsert', asLibrarian, () => Tool.upsert({id: kept.rasp, name: 'Wood rasp'})],
  ['replace', asLibrarian, () => Tool.replaceById(kept.rasp, {name: 'Rasp', ownerId: kept.ada})],
  ['update all', asLibrarian, () => Tool.updateAll({name: 'Rasp'}, {weight: 250})],
  ['remote method', null, () => Tool.statistics()],
  ['remote method with arguments', asAda, () => Tool.lend(kept.rasp, 3), 'third loan'],
  ['remote method that refuses', asAda, () => Tool.lend(kept.rasp, 3)],
  ['owner', asAda, () => Loan.findById(kept['third loan'])],
  ['delete of a role', asLibrarian, () => Loan.destroyById(kept['third loan'])],
  ['delete without a token', null, () => Tool.destroyById(kept.rasp)],
  ['delete', asAda, () => Tool.destroyById(kept.rasp)],
  ['delete what is gone', asLibrarian, () => Tool.destroyById(kept.rasp)],
];

async function run() {
  for (const [call, auth, send, keep] of CALLS) {
    // Others would be those of the call before.
    remote.connector.remotes.auth = auth;
    let answer;
    try {
      const body = await send();
      if (keep) kept[keep] = body.id;
      answer = {status: 200, body, keep, id: keep && body.id};
    } catch (error) {
      if (!error.statusCode) throw error;
      answer = {status: error.statusCode, body: {error: {...error}}};
    }
    console.log(JSON.stringify({call: `remote: ${call}`, ...answer}));
  }
}

run().catch(error => {
  console.error(error);
  process.exit(1);
});
