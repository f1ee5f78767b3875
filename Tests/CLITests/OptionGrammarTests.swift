import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// One grammar of options for all commands.
@Suite struct OptionGrammarTests {
    // MARK: Names

    /// Every command with a dry run, a prompt, an output file or jobs has the short form of the option.
    @Test func theShortFormExistsWhereTheLongOneDoes() async throws {
        let shorts = ["dry-run": "n", "yes": "y", "output": "o", "jobs": "j"]
        var found: [String: Int] = [:]
        for command in try await CommandShape.ofProgram().all {
            for names in (command.arguments ?? []).map({ ($0.names ?? []).map(\.name) }) {
                for (long, short) in shorts where names.contains(long) {
                    found[long, default: 0] += 1
                    #expect(names.contains(short), "\(command.commandName): --\(long)")
                }
            }
        }
        #expect(found["dry-run"] ?? 0 > 30 && found.count == shorts.count)
    }

    /// The parser accepts the options of `mediactl` itself after every command.
    @Test(arguments: [
        (["tapes", "list", "--insecure"], "--insecure is not used by mediactl tapes list"),
        (["--insecure", "uploads", "show", "1"], "--insecure is not used by mediactl uploads show"),
        (["sync", "--user", "x"], "--user is not used by mediactl sync"),
        (["media", "list", "--limit-rate=1M"], "--limit-rate is not used by mediactl media list"),
        (["store", "check", "--server", "h"], "--server is not used by mediactl store check"),
    ])
    func anOptionThatTheCommandDoesNotUseIsRefused(_ arguments: [String], _ error: String) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 2 && result.errors.hasPrefix("mediactl: error: \(error)\n"), "\(result.errors)")
    }

    @Test func timeoutSettingsAreAcceptedAsOptionsWithANote() async throws {
        let options = ["--settle-timeout", "7s", "--finish-timeout", "8s"]
        let result = try await BinaryRunner().run(["config", "show"] + options)
        #expect(result.output.contains(/settle_timeout +7s +command line/))
        #expect(result.output.contains(/finish_timeout +8s +command line/))
        let notes = ["finish", "settle"].map {
            "mediactl: note: --\($0)-timeout is deprecated; use the setting \($0)_timeout\n"
        }
        #expect(result.errors == notes.joined())
    }

    // MARK: Servers

    private func runner(with hosts: [String]) throws -> BinaryRunner {
        let runner = try BinaryRunner()
        let store = try runner.store()
        for (index, host) in hosts.enumerated() {
            var entry = JSONSchemaTests.entry
            entry.fileID = Int64(index + 1)
            entry.host = host
            entry.baseURL = "http://\(host)"
            entry.token = try #require(DeleteToken(String(repeating: index == 0 ? "a" : "b", count: 64)))
            #expect(try !store.add([entry]).contains(.known))
        }
        return runner
    }

    /// The flag filters, before and after the command, with and without a scheme.
    @Test(arguments: [
        ["uploads", "list", "--server", "http://a:8080"], ["--server", "a:8080", "uploads", "list"],
        ["uploads", "list", "--host", "A:8080"],
    ])
    func theFlagFilters(_ arguments: [String]) async throws {
        let result = try await runner(with: ["a:8080", "b"]).run(arguments + ["--json"])
        #expect(result.exitCode == 0 && result.lines.count == 2)
        #expect(result.output.contains(#""host":"a:8080""#))
        let note = arguments.contains("--host") ? "mediactl: note: --host is deprecated; use --server\n" : ""
        #expect(result.errors == note)
    }

    @Test func theEnvironmentDoesNotFilter() async throws {
        let runner = try runner(with: ["a:8080", "b"])
        for line in [["uploads", "list"], ["uploads", "list", "--all"], ["uploads", "list", "--all-hosts"]] {
            let result = try await runner.run(line + ["--json"], extra: ["MEDIACTL_SERVER": "http://a:8080"])
            #expect(result.exitCode == 0 && result.lines.count == 3, "\(result)")
            #expect(result.errors.contains("--all-hosts is deprecated; use --all") == line.contains("--all-hosts"))
        }
    }

    @Test func tokensOfOneServerAreCleared() async throws {
        let runner = try runner(with: ["a:8080", "b"])
        let both = try await runner.run(["--server", "http://a:8080", "uploads", "clear", "--all", "-y"])
        #expect(both.exitCode == 2 && both.errors.contains("--server cannot be combined with --all"))
        let environment = ["MEDIACTL_SERVER": "http://b"]
        #expect(try await runner.run(["uploads", "clear", "-y"], extra: environment).exitCode == 2)
        let one = try await runner.run(["uploads", "clear", "--server", "http://a:8080", "-y"], extra: environment)
        #expect(one.output == "removed 1 delete token for a:8080\n")
        #expect(try await runner.run(["uploads", "show", "2"]).exitCode == 0)
    }

    // MARK: IDs

    @Test func anIDMayBeShortened() throws {
        let ids = ["u-aab", "u-abc", "u-abcd"]
        func named(_ prefix: String) throws -> String? { try ids.named(prefix, "upload") { $0 } }
        #expect(try named("u-aa") == "u-aab" && named("U-AA") == "u-aab")
        #expect(try named("u-abc") == "u-abc", "a whole ID is not ambiguous")
        #expect(try named("u-x") == nil && named("") == nil)
        let error = #expect(throws: UserFacingError.self) { try named("u-a") }
        #expect(error?.message == #""u-a" matches 3 uploads: u-aab, u-abc, u-abcd"#)
        #expect(error?.exitCode == .usage)
    }
}
