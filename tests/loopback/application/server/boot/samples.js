'use strict';

// The librarian, and the categories that every installation has.
module.exports = function(app, cb) {
  const {Member, Role, RoleMapping, Category} = app.models;
  const librarian = {email: 'librarian@example.com', password: 'a quiet shelf', name: 'Libby'};

  Category.count(function(err, count) {
    if (err || count) return cb(err);
    Member.create(librarian, function(err, member) {
      if (err) return cb(err);
      Role.create({name: 'librarian'}, function(err, role) {
        if (err) return cb(err);
        const principal = {principalType: RoleMapping.USER, principalId: member.id};
        role.principals.create(principal, function(err) {
          if (err) return cb(err);
          Category.create([{name: 'Garden'}, {name: 'Wood'}, {name: 'Metal'}], cb);
        });
      });
    });
  });
};
