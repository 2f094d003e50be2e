-- How far ahead of its rate a key, a person or an organisation is, counted by all web processes together. What is lost in
-- a crash is credit that was used.

create unlogged table request_rate (
  name text primary key, -- key 3, person 2, org 1
  until timestamptz not null, -- when everything that was asked would have been asked at the rate
  room interval not null -- how far that may lie ahead
);
