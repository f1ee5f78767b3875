internal import ArgumentParser

/// `mediactl media …`
struct MediaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media",
        abstract: "List, show, find or delete the files on a server.",
        discussion: """
            Unlike uploads, which manages what this machine has uploaded, media shows every file on the server. Any user can \
            list and find; deleting needs the admin user.

            Examples:
              mediactl media list --event-date 2026-06-13
              mediactl media find --org-name "The Band" --label "Encore"
              mediactl media delete 18
            """,
        subcommands: [MediaList.self, MediaShow.self, MediaFind.self, MediaDelete.self]
    )
}
