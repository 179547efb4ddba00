// Package config turns the configuration file and the HERALD_ environment into
// one typed, validated [Config]. It is the only home of viper.
//
// It opens nothing but the configuration and the files that hold secrets: it
// creates no folder, talks to no platform and knows no adapter. What it must
// know of the adapters (their keys and their advice) is passed to [Load].
package config

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"herald/platforms"
)

// Config is the effective configuration. It does not change after Load; a
// reload makes a new one.
type Config struct {
	// File is the absolute path of the file that was read; empty if none was.
	File string `mapstructure:"-"`
	// Base is the folder that relative paths start from: the file's, or without
	// a file the working directory.
	Base string `mapstructure:"-"`

	DataDir  string         `mapstructure:"data_dir"` // absolute
	Timezone string         `mapstructure:"timezone"` // IANA name, or Local
	Location *time.Location `mapstructure:"-"`
	// SkipIfLate holds an article that became due longer ago than this while
	// the daemon was off; 0 publishes it however late it is.
	SkipIfLate time.Duration `mapstructure:"skip_if_late"`
	// Grace is how long a stop waits for calls under way.
	Grace   time.Duration `mapstructure:"grace"`
	Queue   Queue         `mapstructure:"queue"`
	Control Control       `mapstructure:"control"`
	HTTP    HTTP          `mapstructure:"http"`
	Log     Log           `mapstructure:"log"`
	Quality Quality       `mapstructure:"quality"`
	// Notify are the channels that people are told through; none: nobody is told.
	Notify    []Channel `mapstructure:"notify"`
	Reconcile Reconcile `mapstructure:"reconcile"`
	// Targets are in the order of the file, the disabled ones included.
	Targets []Target `mapstructure:"-"`

	// Warnings are what deserves a person's attention but stops nothing. They
	// hold no secret.
	Warnings []string `mapstructure:"-"`

	name     string            // the file as the person named it, for messages
	sum      [sha256.Size]byte // of the file's content
	adapters map[string]Adapter
	options  map[string]any // by target: its adapter's own configuration, decoded
}

// Queue is the folder that articles are dropped in.
type Queue struct {
	Dir    string        `mapstructure:"dir"`    // absolute; default <data_dir>/queue
	Settle time.Duration `mapstructure:"settle"` // a file still for this long is taken
	Sweep  string        `mapstructure:"sweep"`  // cron spec; parsed by the scheduler
	Keep   time.Duration `mapstructure:"keep"`   // how long sources are kept; 0: for ever
}

// Control is the Unix socket that the command line talks to.
type Control struct {
	Socket string      `mapstructure:"socket"` // absolute; default <data_dir>/herald.sock
	Mode   fs.FileMode `mapstructure:"mode"`   // permission bits
}

// HTTP serves /metrics and /healthz.
type HTTP struct {
	Listen string `mapstructure:"listen"` // host:port; empty: off
}

// Log says how much is logged and in which form.
type Log struct {
	Level  string `mapstructure:"level"`  // debug, info, warn or error
	Format string `mapstructure:"format"` // text or json
}

// Quality is the check of an article before it is published.
type Quality struct {
	Providers []Provider    `mapstructure:"providers"` // tried in order; none: basic check only
	PassScore float64       `mapstructure:"pass_score"`
	Timeout   time.Duration `mapstructure:"timeout"`  // of one call
	Deadline  time.Duration `mapstructure:"deadline"` // of the whole check
	// PromptFile replaces the built-in instructions; absolute, or empty.
	PromptFile string `mapstructure:"prompt_file"`
	// Words is a word list; absolute, or empty.
	Words      string     `mapstructure:"words"`
	OnDegraded OnDegraded `mapstructure:"on_degraded"`
	// Recheck is how often it is looked whether a degraded article can be checked
	// again; 0: never.
	Recheck time.Duration `mapstructure:"recheck"`
}

// OnDegraded says what happens to an article when no AI service could judge it.
type OnDegraded string

// The values of on_degraded.
const (
	PublishDegraded OnDegraded = "publish"
	HoldDegraded    OnDegraded = "hold"
)

// Channel is one way to tell people what needs them.
type Channel struct {
	Type   string           `mapstructure:"type"` // webhook
	URL    string           `mapstructure:"url"`
	Secret platforms.Secret `mapstructure:"secret"` // signs what is sent; empty: unsigned
}

// Reconcile is the sweep that looks for what should not be.
type Reconcile struct {
	Every string `mapstructure:"every"` // cron spec; parsed by the scheduler
	// Recent is how old a published post may be to be read again, once a day; 0:
	// never.
	Recent time.Duration `mapstructure:"recent"`
}

// Provider is one AI service with an OpenAI-compatible interface.
type Provider struct {
	BaseURL string           `mapstructure:"base_url"`
	APIKey  platforms.Secret `mapstructure:"api_key"` // may be empty: local services take any
	Model   string           `mapstructure:"model"`
	Timeout time.Duration    `mapstructure:"timeout"` // of one call; 0: that of Quality
	// JSONMode is how it is asked for JSON: auto, schema, object or off.
	JSONMode  string `mapstructure:"json_mode"`
	MaxTokens int    `mapstructure:"max_tokens"` // of an answer; 0: not limited
	MaxChars  int    `mapstructure:"max_chars"`  // of an article in one call; longer ones are split
	// Headers are sent with each call; Extra are further fields of its body, of
	// which null takes one out.
	Headers map[string]platforms.Secret `mapstructure:"headers"`
	Extra   map[string]any              `mapstructure:"extra"`
}

// Adapter is what the configuration must know of one target type.
type Adapter struct {
	// Advice stands in for what neither the target nor defaults: says.
	Advice platforms.Advice
	// Config is a zero value of the adapter's configuration struct, such as
	// site.Config{}. It says which keys a target of this type takes and which of
	// them are secrets. If it has a method Validate() error, Load calls it.
	Config any
}

// Load reads file and the environment and returns the effective configuration,
// or all faults joined, each with its place, its key and the remedy. An empty
// file name looks for nothing: defaults and environment only. A nil adapters
// leaves types and their own keys unchecked.
func Load(file string, adapters map[string]Adapter) (*Config, error) {
	if file == "" {
		base, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
		return load(nil, "", "", base, adapters)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("find the configuration %s: %w", file, err)
	}
	return read(abs, file, adapters)
}

// read loads the file at abs, called name in messages.
func read(abs, name string, adapters map[string]Adapter) (*Config, error) {
	data, err := os.ReadFile(abs)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w; name an existing file with --config, or none to run on defaults", err)
	}
	return load(data, abs, name, filepath.Dir(abs), adapters)
}

// load is Load without the reading, so that it can be tested on bytes.
func load(data []byte, abs, name, base string, adapters map[string]Adapter) (*Config, error) {
	l := newLoader(name, base, adapters)
	tree := l.parse(data)
	if tree == nil {
		return nil, l.faults.err()
	}
	cfg := &Config{
		File: abs, Base: base, name: name, sum: sha256.Sum256(data),
		adapters: adapters, options: map[string]any{},
	}
	l.strict("", "", tree, fileKeys())
	targets, defaults := tree["targets"], tree["defaults"]
	delete(tree, "targets")
	delete(tree, "defaults")
	l.global(cfg, tree)
	l.resolve(cfg)
	l.sharedSettings(defaults)
	l.targets(cfg, targets)
	l.unknownEnvironment()
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	cfg.Warnings = l.warnings
	return cfg, nil
}
