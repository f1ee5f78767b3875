internal import ArgumentParser

struct Uploads: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage the uploads of this machine: list, show, delete, resume, verify.",
        discussion: """
            Deletes uploads with their stored delete tokens, and resumes interrupted uploads.

            Examples:
              mediactl uploads list
              mediactl uploads delete 18
              mediactl uploads resume --all
            """,
        subcommands: [
            UploadsList.self, UploadsShow.self, UploadsDelete.self, UploadsClear.self, UploadsStatus.self,
            UploadsResume.self, UploadsDiscard.self, UploadsVerify.self,
            UploadsExport.self, UploadsImport.self, UploadsResponses.self, UploadsAdopt.self,
        ]
    )
}

/// Which of the stored uploads a command applies to.
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

    /// As stored; nil for all hosts.
    var scope: String? { host?.lowercased() }
}
