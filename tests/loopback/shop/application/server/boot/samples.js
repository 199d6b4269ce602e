'use strict';

// The chief of the staff, and the first customer. Their roles are those of one model's users, as
// the ids of both models begin with 1.
module.exports = async function(app) {
  const {Customer, Staff, Role} = app.models;
  if (await Role.count()) return;
  const chief = await Staff.create({
    email: 'chief@example.com', password: 'a ring of keys', name: 'Chief', badge: '1',
  });
  const bob = await Customer.create({
    email: 'bob@example.com', password: 'a full basket', name: 'Bob',
  });
  const chiefs = await Role.create({name: 'chief'});
  await chiefs.principals.create({principalType: 'Staff', principalId: chief.id});
  const regulars = await Role.create({name: 'regular'});
  await regulars.principals.create({principalType: 'Customer', principalId: bob.id});
};
