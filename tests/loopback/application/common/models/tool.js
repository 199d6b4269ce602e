'use strict';

module.exports = function(Tool) {
  Tool.validatesInclusionOf('state', {in: ['good', 'worn', 'broken']});
  Tool.validatesLengthOf('name', {max: 60});

  Tool.disableRemoteMethodByName('createChangeStream');
  Tool.disableRemoteMethodByName('prototype.__delete__loans');

  Tool.observe('before save', function(ctx, next) {
    if (ctx.instance) {
      ctx.instance.changed = new Date();
    } else {
      ctx.data.changed = new Date();
    }
    next();
  });

  // A tool belongs to the member who adds it.
  Tool.beforeRemote('create', function(ctx, unused, next) {
    ctx.args.data.ownerId = ctx.req.accessToken.userId;
    next();
  });

  Tool.lend = function(id, days, options, cb) {
    const Loan = Tool.app.models.Loan;
    Loan.count({toolId: id, returned: null}, function(err, lent) {
      if (err) return cb(err);
      if (lent) {
        const taken = new Error('Somebody has this tool');
        taken.statusCode = 409;
        taken.code = 'TOOL_IS_LENT';
        return cb(taken);
      }
      Loan.create({toolId: id, memberId: options.accessToken.userId, days: days}, cb);
    });
  };

  Tool.remoteMethod('lend', {
    description: 'Borrow a tool.',
    accepts: [
      {arg: 'id', type: 'any', required: true, http: {source: 'path'}},
      {arg: 'days', type: 'number', required: true},
      {arg: 'options', type: 'object', http: 'optionsFromRequest'},
    ],
    returns: {arg: 'loan', type: 'Loan', root: true},
    http: {path: '/:id/lend', verb: 'post'},
  });

  Tool.giveBack = function(id, cb) {
    const Loan = Tool.app.models.Loan;
    Loan.updateAll({toolId: id, returned: null}, {returned: new Date()}, cb);
  };

  Tool.remoteMethod('giveBack', {
    description: 'End the loan of a tool.',
    accepts: {arg: 'id', type: 'any', required: true, http: {source: 'path'}},
    returns: {arg: 'result', type: 'object', root: true},
    http: {path: '/:id/giveBack', verb: 'post'},
  });

  Tool.statistics = function(cb) {
    Tool.count(function(err, tools) {
      if (err) return cb(err);
      Tool.app.models.Loan.count({returned: null}, function(err, lent) {
        cb(err, tools, lent);
      });
    });
  };

  Tool.remoteMethod('statistics', {
    returns: [{arg: 'tools', type: 'number'}, {arg: 'lent', type: 'number'}],
    http: {path: '/statistics', verb: 'get'},
  });
};
