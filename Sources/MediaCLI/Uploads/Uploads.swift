internal import ArgumentParser

struct Uploads: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uploads",
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
