internal import ArgumentParser

/// `mediactl uploads …`
struct Uploads: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show, delete or forget what was uploaded from here.",
        discussion: """
            What was uploaded from here can be deleted with the tokens that are kept here. What was cut goes on.

            Examples:
              mediactl uploads list
              mediactl uploads delete 18
              mediactl uploads resume --all
            """,
        subcommands: [
            UploadsList.self, UploadsShow.self, UploadsDelete.self, UploadsClear.self, UploadsStatus.self,
            UploadsResume.self, UploadsDiscard.self, UploadsVerify.self,
            UploadsExport.self, UploadsImport.self,
        ]
    )
}
