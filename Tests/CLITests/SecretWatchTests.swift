import Foundation
import TestSupport
import Testing

/// The watch on the secrets of all tests detects them in outputs, files and arguments. Each child here is a shell that
/// gets the built program as an argument and does things that the program never does.
@Suite struct SecretWatchTests {
    private static let password = "canary-PASSWORD-4711"

    private func child(_ script: String, _ home: TemporaryDirectory, _ variables: [String: String] = [:]) throws
        -> ChildProcess
    {
        try ChildProcess(
            "/bin/sh",
            ["-c", script, SandboxProcess.builtProgram("mediactl")],
            environment: ["PATH": "/usr/bin:/bin", "HOME": home.path].merging(variables) { $1 },
            streams: .pipes,
            home: home
        )
    }

    private func expectIssue(_ words: String, _ body: () async throws -> Void) async throws {
        try await withKnownIssue {
            try await body()
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains(words) }
        }
    }

    @Test(arguments: [
        ("printf %s \"$MEDIACTL_PASSWORD\"", "MEDIACTL_PASSWORD to standard output"),
        ("printf %s \"$MEDIACTL_PASSWORD\" >&2", "MEDIACTL_PASSWORD to standard error"),
        ("printf %s \"uploader:$MEDIACTL_PASSWORD\" | base64", "MEDIACTL_PASSWORD to standard output"),
        ("printf %s dXBsb2FkZXI6dXBsb2FkZXI=", "the login of uploader"),
        ("printf %s 53414e44424f5821$(printf %048d 0)", "a token or key of the sandbox"),
        ("echo -----BEGIN PRIVATE KEY-----", "a private key"),
    ]) func aShownSecretIsAnIssue(script: String, words: String) async throws {
        let home = try TemporaryDirectory()
        try await expectIssue(words) {
            _ = try await child(script, home, ["MEDIACTL_PASSWORD": Self.password]).finish()
        }
    }

    /// The file's position in the directory, its length and an encoding do not hide a secret.
    @Test(arguments: [
        ("printf %s \"$MEDIACTL_PASSWORD\" > left", "left MEDIACTL_PASSWORD in left"),
        ("printf %s \"uploader:$MEDIACTL_PASSWORD\" | base64 > left", "left MEDIACTL_PASSWORD in left"),
        (
            "{ head -c 300000 /dev/zero; printf %s \"$MEDIACTL_PASSWORD\"; } > left",
            "left MEDIACTL_PASSWORD in left"
        ),
        (
            "mkdir a z; for n in $(seq 2100); do : > a/$n; done; printf %s \"$MEDIACTL_PASSWORD\" > z/left",
            "left MEDIACTL_PASSWORD in z/left"
        ),
        ("mkdir -p data; : > data/tokens.sqlite; chmod 644 data/tokens.sqlite", "can be read by users other than"),
    ]) func aSecretLeftInAFileIsAnIssue(script: String, words: String) async throws {
        let home = try TemporaryDirectory()
        try await expectIssue(words) {
            // Times of files are those of the last tick of the clock, which may be before the start of the child.
            let tick = "cd \"$HOME\"; : > first; until [ next -nt first ]; do : > next; done; "
            _ = try await child(tick + script, home, ["MEDIACTL_PASSWORD": Self.password]).finish()
        }
    }

    /// Files that are meant for secrets, and those of the test.
    @Test func aSecretInItsPlaceIsNotAnIssue() async throws {
        let home = try TemporaryDirectory()
        try home.write("password", Self.password.utf8)
        let past = timespec(tv_sec: 1_709_634_030, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, home.file("password"), [past, past], 0) == 0)
        let script = "umask 077; printf %s \"$MEDIACTL_PASSWORD\" > \"$HOME/tokens.sqlite\""
        #expect(try await child(script, home, ["MEDIACTL_PASSWORD": Self.password]).finish().exitCode == 0)
    }

    @Test func theKeysOfAChildAreSecrets() async throws {
        let home = try TemporaryDirectory()
        let directory = home.file("data/mediactl/captures")
        try makeDirectory(directory)
        try String(repeating: "5a", count: 32).write(
            toFile: directory + "/vault.key",
            atomically: true,
            encoding: .utf8
        )
        try await expectIssue("key 0 of the child") {
            _ = try await child("cat \"$HOME/data/mediactl/captures/vault.key\"", home).finish()
        }
    }

    @Test func aSecretPassedToAnotherProgramIsAnIssue() async throws {
        let home = try TemporaryDirectory()
        try await expectIssue("among the arguments") {
            let variables = ["MEDIACTL_PASSWORD": Self.password]
            let child = try child("sh -c 'echo ready; read line' sh \"$MEDIACTL_PASSWORD\"; true", home, variables)
            try await child.wait(for: "ready")
            await ArgumentSampler.shared.nextRound()
            child.closeInput()
            _ = try await child.finish()
        }
    }

    @Test func harmlessWordsAreNotAnIssue() async throws {
        let home = try TemporaryDirectory()
        let result = try await child(
            "echo uploader; echo $MEDIACTL_PASSWORD | wc -c",
            home,
            ["MEDIACTL_PASSWORD": "uploader"]
        )
        .finish()
        #expect(result.exitCode == 0)
    }
}
