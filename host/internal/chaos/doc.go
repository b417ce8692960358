// Package chaos breaks what a cluster of hosts stands on while clients use it, and then
// asks package history what was lost. make chaos provokes each kind of fault once, one
// after the other; make chaos-random breaks things at random, several at a time, for
// CHAOSTIME.
//
// # What there is
//
// Three hosts, each a process of quoin serve, share the runs of one PostgreSQL database,
// which has a synchronous standby. Clients suspend runs on any host and wait for
// them on any other one. Programs call a plugin; each host has a process of it. The
// plugin tells the test each effect before it answers.
//
// Each host has a network namespace of its own, with one cable to the test. It reaches the
// database, and the other hosts reach it, through a proxy of the test, which can hold back
// what is sent in one or both directions, or reset connections. Without the right to make
// namespaces, or without the program ip, hosts share the network of the machine.
//
// # What breaks
//
//   - Hosts: kill -9, SIGTERM, SIGSTOP for longer than a lease. Their plugin: kill -9.
//   - Clocks of hosts: set by two hours, forward or back, and set right again. The hosts are
//     built with a package time of the test's own, which makes the wall clock wrong.
//   - Network: partitions from the database, from the other hosts, or from both; messages
//     that arrive late, some after the lease is over; answers that are held back, so that a
//     commit stands and its answer comes late or never; resets. A cable that is pulled for a
//     while: packets get lost, and nothing resets a connection.
//   - Clock of the database: a jump forward ends all leases at once, one backward keeps the
//     leases of the dead.
//   - Disks of the database and of each host's state: full. They are file systems in memory,
//     in a mount namespace of the test. Without the right to make one, the database answers
//     writes of runs as on a full disk, and the disks of hosts stay as they are.
//   - Database: restarts, crashes, failover to the standby, read-only, locked tables.
//
// What the machine cannot provoke is logged as left out.
//
// # How fast runs continue
//
// After each fault of make chaos the test logs how long it took until every host had ended
// a run that was new there. It also logs how long a wait took that was under way when another host took its run
// over, and the same of those waits during which neither the database nor the hosts that
// were asked and that took over had a fault. The second is the figure to compare with the
// promise; slow ones are logged one by one, to be looked up in the logs of the hosts
// (-chaoskeep).
//
// # What is left
//
// At the end everything is healed, and every run that a client was told of must end. All
// processes are children that die with the test; files are in its temporary folders.
package chaos
