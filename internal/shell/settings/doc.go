// Package settings is the configuration of the shell plugin, plugins.shell of a
// configuration file, as the host hands it to the plugin.
//
// [Parse] fills in the defaults and refuses what does not fit; it is called in the
// host, so that an operator learns of a mistake when the configuration is read, and
// in the plugin, which trusts no one.
package settings
