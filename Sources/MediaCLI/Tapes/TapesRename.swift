internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesRename: ContextCommand {
    static let schema = "mediactl.tapes-rename/1"
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename a tape. Its album keeps its title.",
        discussion: """
            Example:
              mediactl tapes rename Summer "Summer 2026"
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument("New title.", value: "title")
    var title: String

    @Flag(name: .dryRun, help: "Show what would be changed, without changing it.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let title = try RawArguments.title(title)
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        try console.requireOutput()
        let renamed = dryRun ? tape : try session.editor.rename(tape, to: title)
        let (old, new) = (ErrorCatalog.quoted(tape.title), ErrorCatalog.quoted(dryRun ? title : renamed.title))
        let isUnchanged = title.trimmingCharacters(in: .whitespacesAndNewlines) == tape.title
        console.text([
            isUnchanged
                ? "the title is already \(old)"
                : dryRun ? "\(old) would be renamed to \(new)" : "renamed \(old) to \(new)"
        ])
        if renamed.association == .associated, !isUnchanged {
            console.note("its album keeps its title")
        }
        return console.finish(
            JSONRenderer.tape(renamed) + ["previous_title": .string(tape.title), "dry_run": .bool(dryRun)]
        )
    }
}
