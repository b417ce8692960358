package desk

// migrations grow the file. Filling it is a migration like any other, so that
// it happens exactly once, in the same transaction as the tables.
var migrations = []string{`
create table stories (
	id     text    primary key,
	title  text    not null,
	author text    not null,
	editor text    not null, -- empty: no editor
	status text    not null check (status in ('pitch', 'draft', 'edit', 'proof', 'published')),
	due    text    not null, -- date of publication
	words  integer not null,
	target integer not null  -- words commissioned
) strict;
create table invoices (
	id    text    primary key,
	story text    not null references stories (id),
	payee text    not null,
	cents integer not null check (cents > 0),
	due   text    not null,
	paid  text    not null -- date, or empty
) strict;
create index invoices_story on invoices (story);
`, `
insert into stories (id, title, author, editor, status, due, words, target) values
	('F-101', 'The Lighthouse Ledger',  'M. Okafor',   'R. Lind',  'proof',     '2026-02-20', 8200, 8000),
	('F-102', 'Salt and Static',        'J. Marchand', '',         'edit',      '2026-03-20', 5100, 5000),
	('F-103', 'A Clockmaker''s Debt',   'I. Sato',     'R. Lind',  'draft',     '2026-03-10', 2400, 6000),
	('F-104', 'Nine Borrowed Winters',  'P. Hale',     'D. Amara', 'proof',     '2026-04-02', 9400, 9000),
	('F-105', 'The Cartographer Lies',  'L. Brandt',   'D. Amara', 'draft',     '2026-06-15', 4100, 4000),
	('F-106', 'Under Quiet Management', 'S. Petrov',   '',         'pitch',     '2026-07-01',    0, 7000),
	('F-107', 'Letters to a Ferryman',  'A. Quill',    'R. Lind',  'published', '2026-01-15', 6050, 6000);
insert into invoices (id, story, payee, cents, due, paid) values
	('I-1', 'F-101', 'M. Okafor',       164000, '2026-02-10', ''),
	('I-2', 'F-101', 'Harbour Print',    48000, '2026-03-15', ''),
	('I-3', 'F-102', 'J. Marchand',     102000, '2026-04-01', ''),
	('I-4', 'F-104', 'P. Hale',         188000, '2026-03-31', ''),
	('I-5', 'F-104', 'Vera Illustrates', 35050, '2026-02-28', '2026-02-27'),
	('I-6', 'F-107', 'A. Quill',        121000, '2026-01-31', '2026-02-02'),
	('I-7', 'F-107', 'Harbour Print',    51020, '2026-02-15', '');
`}
