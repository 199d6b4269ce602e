// Users and to-dos on PocketBase, as data.py makes them for Ostiary, and their rules.

migrate((app) => {
  const users = app.findCollectionByNameOrId('users');
  const [owner] = ['OWNER', 'CREATOR'].map((name) => {
    const user = new Record(users);
    user.set('email', $os.getenv(name));
    user.setPassword($os.getenv('PASSWORD'));
    app.save(user);
    return user;
  });

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
    WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {:rows})
    INSERT INTO todos (id, title, "desc", isComplete, created, owner)
    SELECT CAST(i + {:first} AS TEXT), 'To-do number ' || i, '', i % 2 = 0,
      strftime('%Y-%m-%d %H:%M:%fZ'), {:owner}
    FROM numbers
  `).bind({
    rows: Number($os.getenv('ROWS')), first: Number($os.getenv('FIRST_ID')), owner: owner.id,
  }).execute();
  app.db().newQuery('ANALYZE').execute();
});
