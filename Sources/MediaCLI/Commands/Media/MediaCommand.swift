internal import ArgumentParser

/// `mediactl media …`
struct MediaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media",
        abstract: "List, show, find or delete files on a server.",
        discussion: """
            Unlike uploads, which manages this machine's uploads, media covers every file on the server. Any user can \
            list and find files; deleting requires the admin user.

            Examples:
              mediactl media list --event-date 2026-06-13
              mediactl media find --org-name "The Band" --label "Encore"
              mediactl media delete 18
            """,
        subcommands: [MediaList.self, MediaShow.self, MediaFind.self, MediaDelete.self]
    )
}
