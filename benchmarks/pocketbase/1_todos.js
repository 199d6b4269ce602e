// Users and to-dos on PocketBase, as data.py makes them for Ostiary, and their rules.

const ROWS = 10000;
const FIRST_ID = 1e14;

migrate((app) => {
  const users = app.findCollectionByNameOrId('users');
  for (const [id, email] of [['1', 'user1@example.com'], ['2', 'ada@example.com']]) {
    const user = new Record(users);
    user.set('id', id.padStart(15, '0'));
    user.set('email', email);
    user.setPassword('correct horse battery');
    app.save(user);
  }

  const own = 'owner = @request.auth.id';
  app.save(new Collection({
    type: 'base',
    name: 'todos',
    listRule: own,
    viewRule: own,
    createRule: `@request.auth.id != "" && ${own}`,
    updateRule: own,
    deleteRule: own,
    fields: [
      {name: 'title', type: 'text', required: true},
      {name: 'desc', type: 'text'},
      {name: 'isComplete', type: 'bool'},
      {name: 'created', type: 'autodate', onCreate: true},
      {name: 'owner', type: 'relation', collectionId: users.id, maxSelect: 1, required: true},
    ],
    indexes: ['CREATE INDEX ix_todos_owner ON todos (owner, id)'],
  }));
  app.db().newQuery(`
    WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${ROWS})
    INSERT INTO todos (id, title, "desc", isComplete, created, owner)
    SELECT CAST(i + ${FIRST_ID} AS TEXT), 'To-do number ' || i, '', i % 2 = 0,
      strftime('%Y-%m-%d %H:%M:%fZ'), '000000000000001'
    FROM numbers
  `).execute();
  app.db().newQuery('ANALYZE').execute();
});
