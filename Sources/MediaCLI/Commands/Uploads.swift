internal import ArgumentParser

/// `mediactl uploads …`
struct Uploads: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "What was uploaded from here: list, show, delete, clear, status.",
        subcommands: [UploadsList.self, UploadsShow.self, UploadsDelete.self, UploadsClear.self, UploadsStatus.self]
    )
}
