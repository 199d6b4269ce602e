// Print the events of a stream as lines of JSON, until the process is ended.
'use strict';

const {EventSource} = require('eventsource');

const source = new EventSource(process.argv[2]);
source.addEventListener('open', () => console.log(JSON.stringify({open: true})));
for (const name of ['data', 'resync']) {
  source.addEventListener(name, (event) => {
    const {type, target} = JSON.parse(event.data);
    console.log(JSON.stringify({name, type, target, id: event.lastEventId}));
  });
}
