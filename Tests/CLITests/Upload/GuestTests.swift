import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Uploads with an event link: no login, terms accepted, the organiser decides.
@Suite struct GuestTests {
    private func scene() async throws -> (scene: BatchScene, guest: BinaryRunner, link: String, secret: String) {
        let scene = try await BatchScene()
        let link = try await scene.eventLink()
        var guest = scene.runner
        guest.environment["MEDIACTL_PASSWORD"] = nil
        guest.environment["MEDIACTL_SERVER"] = nil
        return (scene, guest, link, String(link.suffix(43)))
    }

    @Test func guestsUploadWithoutLoginOnceTheyAcceptTheTerms() async throws {
        let (scene, guest, link, secret) = try await scene()
        let file = try scene.file("a.mp4")
        let linkFile = try scene.text("link", link + "\n")
        let refused = try await guest.run(["upload", file, "--event-link-file", linkFile])
        #expect(refused.exitCode == 2 && refused.errors.contains("add --accept-terms"))
        #expect(try await scene.posts() == 0)

        let result = try await guest.run(
            ["upload", file, "--event-link-file", "-", "--accept-terms", "--display-name", "Ann", "--json"],
            input: link
        )
        #expect(result.exitCode == 0)
        let item = try #require(try BatchScene.records(result, "item").first)
        #expect(item["org_name"] as? String == "Tus" && item["event_date"] as? String == "2026-03-01")
        #expect(item["transport"] as? String == "tus" && item["guest_job_id"] is Int)
        #expect(!(refused.errors + result.output + result.errors).contains(secret))

        let status = try await guest.run(["uploads", "status", "--json"])
        #expect(status.output.contains(#""guest_status":"pending""#))
        let early = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(early.exitCode == 4 && early.errors.contains("it is not approved yet"))
        let job = try #require(item["guest_job_id"] as? Int)
        _ = try await scene.control("POST", "guest-jobs/\(job)/approve")
        #expect(try await guest.run(["uploads", "status"]).output.contains("guest, approved"))
        #expect(try await guest.run(["uploads", "list"]).output.contains("(guest)"))
        let hidden = try await guest.run(["uploads", "delete", "1", "--yes", "--json"])
        #expect(hidden.exitCode == 0 && hidden.output.contains(#""state":"hidden""#))
        for line in hidden.lines {
            try JSONSchemaTests.expectExactShape(line, schema: "uploads-delete")
        }
        #expect(try await guest.run(["uploads", "status", "--json"]).lines.count == 2)
        #expect(try scene.sandbox.storedFiles().count == 1, "the server keeps the file")
    }

    @Test func aLinkOnTheCommandLineIsWarnedOf() async throws {
        let (scene, guest, link, secret) = try await scene()
        let file = try scene.file("a.mp4")
        let result = try await guest.run(["upload", file, "--event-link", link, "--accept-terms"])
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("others on this machine can see an event link on the command line"))
        #expect(!result.errors.contains(secret))
    }

    @Test func aBareTokenNeedsAServer() async throws {
        let (scene, guest, _, secret) = try await scene()
        let file = try scene.file("a.mp4")
        let token = try scene.text("token", secret)
        let command = ["upload", file, "--upload-token-file", token, "--accept-terms"]
        #expect(try await guest.run(command).errors.contains("no server is named"))
        #expect(try await guest.run(command + ["--server", scene.sandbox.baseURL]).exitCode == 0)
    }

    @Test func aLinkToAnotherServerIsNotShownToThisOne() async throws {
        let (scene, guest, _, secret) = try await scene()
        let file = try scene.file("a.mp4")
        let link = try scene.text("link", "https://other.example/upload/\(secret)")
        let command = ["upload", file, "--event-link-file", link, "--accept-terms"]
        let result = try await guest.run(command + ["--server", scene.sandbox.baseURL])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("the event link is for https://other.example, not for --server"))
        #expect(try await scene.sandbox.requests().isEmpty)
    }

    @Test func termsMayBeAcceptedOnATerminal() async throws {
        let (scene, guest, link, _) = try await scene()
        let file = try scene.file("a.mp4")
        let linkFile = try scene.text("link", link)
        for (answer, exitCode) in [("no\n", Int32(1)), ("yes\n", 0)] {
            let child = try guest.start(
                ["upload", file, "--event-link-file", linkFile],
                streams: .terminal(columns: 100)
            )
            try await child.wait(for: "Do you accept the organiser's terms")
            child.write(answer)
            #expect(try await child.finish().exitCode == exitCode)
        }
    }

    @Test(arguments: ["https://h.example/other/x", "nonsense"])
    func whatIsNoLinkIsNotShown(text: String) async throws {
        let (scene, guest, _, _) = try await scene()
        let file = try scene.file("a.mp4")
        let result = try await guest.run(["upload", file, "--event-link-file", "-", "--accept-terms"], input: text)
        #expect(result.exitCode == 2 && result.errors.contains("this is no event link"))
        #expect(!result.errors.contains(text))
    }

    @Test func revokedLinksAreRefusedBeforeAnythingIsSent() async throws {
        let (scene, guest, link, secret) = try await scene()
        let file = try scene.file("a.mp4")
        _ = try await scene.control("DELETE", "event-links/\(secret)")
        let result = try await guest.run(
            ["upload", file, "--event-link-file", "-", "--accept-terms"],
            input: link
        )
        #expect(result.exitCode == 4 && result.errors.contains("the event link is not valid"))
    }
}
