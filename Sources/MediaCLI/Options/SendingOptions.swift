internal import ArgumentParser

/// How the files of an upload are sent.
struct SendingOptions: ParsableArguments {
    /// How the bytes go.
    enum Transport: String, ExpressibleByArgument, CaseIterable {
        case auto
        case multipart
    }

    @Flag(help: "Check everything that can be checked here, send nothing.")
    var dryRun = false

    @Flag(help: "Send files with unknown extensions, and files that were uploaded from here before.")
    var force = false

    @Option(help: ArgumentHelp("What to call standard input on the server.", valueName: "name"))
    var stdinName: String?

    @Option(help: "How the bytes are sent; auto chooses what suits the server.")
    var transport = Transport.auto
}
