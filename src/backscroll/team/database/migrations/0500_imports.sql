-- Which devices stand for an import, and which of these were undone.
alter table device add column is_import boolean not null default false;
alter table device add column undone timestamptz;
update device d set is_import = true from audit a where a.action = 'history.import' and a.about = d.name;
