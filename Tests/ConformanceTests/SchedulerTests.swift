import Foundation
import TestSupport
import Testing

/// The scripts for schedulers in `docs/guides/scale.md`, run as the scheduler would run them.
@Suite("The guide for many machines")
struct SchedulerTests {
    private static let parts = 4

    /// The files that the scripts find on every machine.
    private struct Site {
        let home: TemporaryDirectory
        let sandbox: SandboxProcess

        init() async throws {
            home = try TemporaryDirectory()
            sandbox = try await SandboxProcess.start()
            let clip = try Repository.data(BuiltClientTests.clip)
            for directory in ["media/2026", "exports", "tmp"] {
                try makeDirectory(home.file(directory))
            }
            for number in 1...9 {
                try (clip + Data("\(number)".utf8)).write(to: URL(filePath: home.file("media/2026/\(number).mp4")))
            }
            try "uploader\n".write(toFile: home.file("password"), atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600],
                ofItemAtPath: home.file("password")
            )
        }

        /// Runs a script with the variables of one machine.
        func run(_ shell: String, _ script: String, _ variables: [String: String]) async throws -> ChildResult {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let everywhere = [
                "PATH": "\(BuiltProgram.directories):\(path)", "HOME": home.path, "TMPDIR": home.file("tmp"),
                "XDG_DATA_HOME": home.file("data"), "XDG_CACHE_HOME": home.file("cache"),
                "MEDIA_DIR": home.file("media"), "EXPORT_DIR": home.file("exports"),
                "MEDIACTL_SERVER": sandbox.baseURL, "MEDIACTL_USER": "uploader",
                "MEDIACTL_PASSWORD_FILE": home.file("password"),
            ]
            return try await ForeignProgram.run(
                try ForeignProgram.path(of: shell),
                ["-c", script],
                environment: everywhere.merging(variables) { $1 }
            )
        }

        /// Merges the tokens as described in the guide, and compares them with the uploaded files.
        func expectEveryFileOnce() async throws {
            let imports = try await run(
                "bash",
                "cd \"$HOME\"\n" + SchedulerTests.block("sh", with: "uploads import"),
                [:]
            )
            #expect(imports.status == 0, "\(imports.errors)")
            let list = try await run("bash", "mediactl uploads list --json", [:])
            let items = try list.records()
            #expect(Set(items.compactMap { $0["file_id"] as? Int }) == Set(1...9))
            #expect(items.count == 9)
        }
    }

    /// The first block in this language that contains the text.
    private static func block(_ language: String, with text: String) throws -> String {
        let pieces = try Repository.text("docs/guides/scale.md").components(separatedBy: "```\(language)\n")
        let blocks = pieces.dropFirst().compactMap { $0.components(separatedBy: "```").first }
        return try #require(blocks.first { $0.contains(text) })
    }

    @Test("the tasks of the Slurm array upload every file once")
    func slurmArray() async throws {
        let site = try await Site()
        let script = try Self.block("sh", with: "#SBATCH --array=0-3")

        for task in 0..<Self.parts {
            let result = try await site.run(
                "bash",
                script,
                [
                    "SLURM_ARRAY_TASK_ID": "\(task)", "SLURM_ARRAY_TASK_COUNT": "\(Self.parts)",
                    "SLURM_ARRAY_TASK_MIN": "0",
                ]
            )
            #expect(result.status == 0, "\(result.errors)")
        }

        try await site.expectEveryFileOnce()
    }

    @Test("the Kubernetes manifest is a Job whose pods upload every file once")
    func kubernetesJob() async throws {
        let manifest = try Self.block("yaml", with: "kind: Job")
        let asJSON = try await ForeignProgram.run(
            ForeignProgram.python,
            ["-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))", manifest]
        )
        let job = try JSONDecoder().decode(Job.self, from: Data(asJSON.output.utf8))
        #expect(job.apiVersion == "batch/v1")
        #expect(job.kind == "Job")
        #expect(job.spec.completionMode == "Indexed")
        #expect(job.spec.completions == Self.parts)
        #expect(job.spec.template.spec.restartPolicy == "Never")
        let container = try #require(job.spec.template.spec.containers.first)
        #expect(container.command == ["/bin/sh", "-c"])
        let script = try #require(container.args.first)
        #expect(script.contains("--shard auto/\(Self.parts)"), "as many parts as completions")
        // Every directory that is passed to the script is mounted. A volume belongs to root, but the image runs as a
        // different user: mediactl refuses a data directory that belongs to another user, so it creates one in the
        // volume.
        let mounted = container.volumeMounts.map(\.mountPath)
        for variable in container.env where variable.name.hasSuffix("_DIR") {
            let value = try #require(variable.value)
            let path = variable.name == "DATA_DIR" ? value.replacing(/\/[^\/]*$/, with: "") : value
            #expect(mounted.contains(path), "\(variable.name)")
        }
        let image = try Repository.text("Dockerfile")
        let group = job.spec.template.spec.securityContext.fsGroup
        #expect(image.contains("\nUSER \(group):\(group)\n"))
        #expect(Set(container.volumeMounts.map(\.name)) == Set(job.spec.template.spec.volumes.map(\.name)))

        let site = try await Site()
        for index in 0..<Self.parts {
            let result = try await site.run(
                "sh",
                script,
                ["JOB_COMPLETION_INDEX": "\(index)", "DATA_DIR": site.home.file("node-\(index)")]
            )
            #expect(result.status == 0, "\(result.errors)")
        }
        try await site.expectEveryFileOnce()
        // The tokens are lost with the pod: it must not succeed without their export.
        let missing = ["EXPORT_DIR": site.home.file("missing"), "DATA_DIR": site.home.file("node-0")]
        let result = try await site.run("sh", script, missing.merging(["JOB_COMPLETION_INDEX": "0"]) { $1 })
        #expect(result.status == 2, "\(result.errors)")
    }

    /// The members of a Job (batch/v1) that the test checks.
    private struct Job: Decodable {
        struct Spec: Decodable {
            let completionMode: String
            let completions: Int
            let template: Template
        }

        struct Template: Decodable {
            let spec: Pod
        }

        struct Pod: Decodable {
            let restartPolicy: String
            let securityContext: Security
            let containers: [Container]
            let volumes: [Volume]
        }

        struct Security: Decodable {
            let fsGroup: Int
        }

        struct Container: Decodable {
            let command: [String]
            let args: [String]
            let env: [Variable]
            let volumeMounts: [Mount]
        }

        struct Variable: Decodable {
            let name: String
            let value: String?
        }

        struct Mount: Decodable {
            let name: String
            let mountPath: String
        }

        struct Volume: Decodable {
            let name: String
        }

        let apiVersion: String
        let kind: String
        let spec: Spec
    }
}
