internal import ArgumentParser

/// `mediactl uploads …`
struct Uploads: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show, delete or forget what was uploaded from here.",
        subcommands: [
            UploadsList.self, UploadsShow.self, UploadsDelete.self, UploadsClear.self, UploadsStatus.self,
            UploadsResume.self, UploadsDiscard.self,
            UploadsExport.self, UploadsImport.self,
        ]
    )
}
