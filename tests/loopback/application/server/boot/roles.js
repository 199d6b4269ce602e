'use strict';

module.exports = function(app) {
  const Role = app.models.Role;

  // Who has borrowed a tool and not given it back yet.
  Role.registerResolver('borrower', function(role, context, cb) {
    const userId = context.accessToken && context.accessToken.userId;
    if (!userId || context.modelName !== 'Tool' || !context.modelId) return cb(null, false);
    const open = {toolId: context.modelId, memberId: userId, returned: null};
    app.models.Loan.count(open, function(err, count) {
      cb(err, count > 0);
    });
  });
};
