import Foundation
import TestSupport
import Testing

/// The checks of commands that ArgumentParser performs only in debug builds, performed once for all of them
/// (docs/adr/0022).
@Suite struct CommandShapeTests {
    @Test func noCommandHasAConflictingDefinition() async throws {
        let root = try await CommandShape.ofProgram()
        #expect(root.all.count > 60)
        #expect(root.all.flatMap(\.problems).isEmpty)
    }

    /// Each argument is added to the dump of a valid command, written by hand.
    @Test(arguments: [
        (#"{"kind":"option","names":[{"kind":"long","name":"to"}]}"#, [String]()),
        (#"{"kind":"option","names":[{"kind":"long","name":"quiet"}]}"#, ["c: --quiet appears twice"]),
        (#"{"kind":"flag","names":[{"kind":"short","name":"q"}]}"#, ["c: -q appears twice"]),
        (#"{"kind":"option","names":[]}"#, ["c: option without a name"]),
        (
            #"{"kind":"flag","names":[{"kind":"long","name":"on"}],"defaultValue":"true"}"#,
            ["c: --on cannot be disabled"]
        ),
        (#"{"kind":"flag","names":[{"kind":"long","name":"no-on"}],"defaultValue":"true"}"#, []),
        (#"{"kind":"positional","valueName":"more"}"#, ["c: more follows the remaining arguments"]),
    ])
    func aConflictingDefinitionIsFound(argument: String, problems: [String]) throws {
        let whole = """
            {"command":{"commandName":"c","arguments":[
            {"kind":"flag","names":[{"kind":"long","name":"quiet"},{"kind":"short","name":"q"}]},
            {"kind":"positional","valueName":"file","isRepeating":true},\(argument)]}}
            """
        #expect(try CommandShape(Data(whole.utf8)).problems == problems)
    }
}

/// A command as `--experimental-dump-help` prints it.
struct CommandShape: Decodable {
    struct Name: Decodable, Hashable {
        var kind: String
        var name: String

        var text: String { (kind == "long" ? "--" : "-") + name }
    }

    struct Argument: Decodable {
        var kind: String
        var names: [Name]?
        var valueName: String?
        var isRepeating: Bool?
        var defaultValue: String?
    }

    private struct Dump: Decodable {
        var command: CommandShape
    }

    var commandName: String
    var arguments: [Argument]?
    var subcommands: [CommandShape]?

    static func ofProgram() async throws -> CommandShape {
        try CommandShape(Data(try await BinaryRunner().run(["--experimental-dump-help"]).output.utf8))
    }

    init(_ json: Data) throws {
        self = try JSONDecoder().decode(Dump.self, from: json).command
    }

    /// This command and its subcommands.
    var all: [CommandShape] { [self] + (subcommands ?? []).flatMap(\.all) }

    /// Definitions that contradict each other.
    var problems: [String] {
        var problems: [String] = []
        var seen: Set<Name> = []
        var isOver = false
        for argument in arguments ?? [] {
            let names = argument.names ?? []
            if argument.kind == "positional" {
                if isOver { problems.append("\(argument.valueName ?? "") follows the remaining arguments") }
                isOver = isOver || argument.isRepeating == true
            } else if names.isEmpty {
                problems.append("\(argument.kind) without a name")
            }
            problems += names.filter { !seen.insert($0).inserted }.map { "\($0.text) appears twice" }
            let isOn = argument.kind == "flag" && argument.defaultValue == "true"
            if isOn, let name = names.first, !names.contains(where: { $0.name.hasPrefix("no-") }) {
                problems.append("\(name.text) cannot be disabled")
            }
        }
        return problems.map { "\(commandName): \($0)" }
    }
}
