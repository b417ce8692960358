// Package plugins runs plugins as processes of their own, for hosts: it finds
// them, starts them, holds them to what their manifests claim, calls them, and
// brings them back when they die.
//
//	ctx := context.Background()
//	s, err := plugins.Supervise(ctx, "/etc/quoin/plugins", plugins.SupervisorOptions{DataDir: "/var/lib/quoin/plugins"})
//	if err != nil {
//		fmt.Println(err)
//		return
//	}
//	for _, p := range s.Plugins() {
//		fmt.Println(p.ID, p.State, p.Reason)
//	}
//	registry := namespaces.NewRegistry()
//	for _, n := range s.Registrations() {
//		if err := registry.Register(n); err != nil {
//			fmt.Println(err) // for instance a global that another plugin has
//		}
//	}
//	result, err := s.CallTool(ctx, "issues", plugins.CallRequest{Tool: "issues_get", Input: []byte(`{"id": 1}`)}, nil)
//	fmt.Println(string(result), err)
//	fmt.Println(s.Close())
//
// # Nouns
//
// A [Candidate] is a folder with a plugin.json, which package manifest reads. A [Process]
// is one running plugin. A [Supervisor] runs a directory of plugins and leads calls to the
// process that is alive. A [Status] is what it knows about one plugin, and an [Offer] what
// one generation of a plugin offers, as its protocol.Description says.
//
// # Lifecycle of a process
//
//  1. The manifest is read and checked, and the configuration held against its
//     configSchema. A pinned binary is copied to a private folder while it is
//     hashed, and the copy is what runs.
//  2. The process is started: in a process group of its own, to be killed when
//     the host dies, with an empty environment but for TZ, HOME, TMPDIR and
//     QUOIN_*, no arguments, its data directory as working directory, no
//     descriptor of the host's, and a pipe as standard input, which ends when
//     the host ends.
//  3. It shakes hands on standard output. Lines printed before the handshake
//     are logged and do no harm. It must listen on a unix socket in the private
//     folder made for it, and both sides prove themselves by mutual TLS.
//  4. Describe: id and version must be the manifest's, every tool and namespace
//     must be in order, and namespaces may lead to the plugin's own tools only.
//     One fault refuses the plugin as a whole, with a message for its author.
//  5. Configure, then Health. Now Start returns.
//  6. Close: running calls are cancelled, the plugin is asked to stop and given
//     a limited time, then everything in its process group is killed. The same
//     happens to the group when the process dies by itself.
//
// # Supervision
//
// A process that dies, or fails to start in a way that may pass, is started
// again after a delay that doubles; when the restart budget is used up, or the
// plugin was refused, it is disabled with a reason and offers nothing. While it
// comes back its tools and namespaces stay on offer and calls fail at once. A
// call that runs out of time makes the supervisor ask for the plugin's health;
// a plugin that does not answer is killed, one that does is left alone.
//
// # Generations
//
// What serves under an id is a generation: one load of the plugin's folder over the
// lives of its processes. [Supervisor.Reload], which SupervisorOptions.Watch calls
// whenever a folder has changed, starts a new one from the folder as it is, takes it
// through every step of a first start and checks that no other plugin has its names;
// then it takes the place of the one before in one step, tools and namespaces
// together. On any failure before that step the one before stays in service, and
// Status.LastError says why.
//
//   - A request ends on the generation on which it started. All
//     requests under one context of [Supervisor.KeepGenerations] go to one generation of
//     a plugin, such as the mapping of arguments and the call that it is for.
//   - A generation that was replaced takes nothing new, is stopped when its calls have
//     ended, at the latest after RetireTimeout, and is not brought back if it dies.
//   - A call by a caller that knows the tool of another generation (CallRequest.Known)
//     is made if the present tool takes its input and promises no less, and is refused
//     with CodeChanged otherwise.
//   - One reload of a plugin runs at a time; all who ask during it get one more.
//   - [Supervisor.Override] puts a plugin under development in the place of the installed
//     one, which still runs, until it is undone.
//
// A watched folder counts as changed when its manifest or a file that the manifest
// names has, wherever links lead; other files may come and go. Changes settle for a
// moment first. What fails to load is tried again when something happens there.
//
// # What a plugin has of its host
//
// Its configuration; its secrets, which are taken out of whatever it sends; a data
// directory; and, from protocol version 2 on, a key-value storage, which its
// generations share. See SupervisorOptions and protocol.Storage.
//
// # Concurrency
//
// Everything is safe for concurrent use. Calls of one plugin run at the same
// time. OnChange calls come one at a time and without locks held. Close may be
// called again, and calls that are running when it is called fail with
// CodeStopped.
//
// # Failure
//
// Calls fail with a *protocol.Error that names the plugin and what it was doing.
// Its Kind tells who is to blame: the tool or its input (data for the caller),
// the plugin (a bug there), the process (it died, with its last words, or is
// not there), the protocol, time, or the caller who gave up. After the last
// five it is unknown whether a call took effect. A start fails with a
// *[StartError], a manifest with one *[manifest.Error] per mistake.
//
// # Trust
//
// A plugin runs with the rights of the host's user: this package contains its
// lifetime, not its deeds. But nothing it sends is believed: manifests,
// descriptions, schemas (which may not refer to files or the network), scopes,
// replies, log lines and the address it listens on are checked and bounded. A
// message is at most 16 MiB and refused before it is read; logs have a line
// limit and a rate.
//
// A quoin.lock in the plugin directory, and trusted keys, decide which plugins may
// start and as what files: see [LockGate] and package trust. A plugin that they hold to its files runs
// from a private copy that was hashed while it was made.
//
// # Not here
//
// Which tools a run may see, approvals and the record of calls are the host's.
// Names of namespaces belong to package namespaces. Processes are contained on
// Linux only; elsewhere every start fails.
package plugins
