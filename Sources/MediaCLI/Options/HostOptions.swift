internal import ArgumentParser

/// Which of the uploads that are kept here a command looks at.
struct HostOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only uploads to this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Uploads to all hosts (default).")
    var allHosts = false

    func validate() throws {
        guard host == nil || !allHosts else {
            throw ValidationError("--host cannot be combined with --all-hosts.")
        }
    }

    /// The host as the store has it; nil stands for all.
    var scope: String? { host?.lowercased() }
}
