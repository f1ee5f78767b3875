internal import ArgumentParser

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Check, back up, repair and restore the token store.",
        discussion: """
            The token store contains the delete tokens and the upload journal. Once a day, after a command, mediactl \
            backs it up if it is smaller than 64 MiB. The last three backups, and any with tokens that the store has \
            lost, are kept in the data directory.

            Examples:
              mediactl store check
              mediactl store backup /media/usb/tokens.sqlite
              mediactl store repair
              mediactl store restore /media/usb/tokens.sqlite
            """,
        subcommands: [StoreCheckCommand.self, StoreBackup.self, StoreRepairCommand.self, StoreRestoreCommand.self]
    )
}
