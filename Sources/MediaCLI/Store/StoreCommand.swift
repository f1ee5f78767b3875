internal import ArgumentParser

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Check, back up, repair and restore the token store.",
        discussion: """
            The token store contains the delete tokens and the upload journal. mediactl backs it up once a day, after a command, \
            while it is smaller than 64 MiB, and keeps the last three backups in the data directory, and those with tokens that \
            the store has lost.

            Examples:
              mediactl store check
              mediactl store backup /media/usb/tokens.sqlite
              mediactl store repair
              mediactl store restore /media/usb/tokens.sqlite
            """,
        subcommands: [StoreCheckCommand.self, StoreBackup.self, StoreRepairCommand.self, StoreRestoreCommand.self]
    )
}
