'use strict';

module.exports = function(Workshop) {
  // Find the positions of an address.
  Workshop.locate = function(address, cb) {
    Workshop.app.models.Geocoder.geocode(address, cb);
  };

  Workshop.remoteMethod('locate', {
    accepts: {arg: 'address', type: 'string', required: true, http: {source: 'query'}},
    returns: {arg: 'positions', type: 'array'},
    http: {path: '/locate', verb: 'get'},
  });
};
