'use strict';

module.exports = function(Member) {
  Member.validatesLengthOf('name', {min: 2, message: {min: 'is too short'}});
  Member.disableRemoteMethodByName('createChangeStream');
  Member.disableRemoteMethodByName('upsertWithWhere');
};
