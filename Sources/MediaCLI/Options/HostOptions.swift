internal import ArgumentParser

/// Which of the uploads that are kept here a command looks at.
struct HostOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only uploads to this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Uploads to all hosts; the default.")
    var allHosts = false

    func validate() throws {
        guard host == nil || !allHosts else {
            throw ValidationError("--host and --all-hosts exclude each other.")
        }
    }

    /// The host as the store has it; nil stands for all.
    var scope: String? { host?.lowercased() }
}
