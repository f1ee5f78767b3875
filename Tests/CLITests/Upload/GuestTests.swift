import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// Uploads with an event link: no login, terms accepted, the organizer approves or rejects.
@Suite struct GuestTests {
    let fixture: BatchFixture
    let guest: BinaryRunner
    let link: String
    var secret: String { String(link.suffix(43)) }

    init() async throws {
        fixture = try await BatchFixture()
        link = try await fixture.eventLink()
        var guest = fixture.runner
        guest.environment["MEDIACTL_PASSWORD"] = nil
        guest.environment["MEDIACTL_SERVER"] = nil
        self.guest = guest
    }

    @Test func guestsUploadWithoutLoginOnceTheyAcceptTheTerms() async throws {
        let file = try fixture.file("a.mp4")
        let linkFile = try fixture.text("link", link + "\n")
        let refused = try await guest.run(["upload", file, "--event-link-file", linkFile])
        #expect(refused.exitCode == 2 && refused.errors.contains("add --accept-terms"))
        #expect(try await fixture.sandbox.posts() == 0)

        let result = try await guest.run(
            ["upload", file, "--event-link-file", "-", "--accept-terms", "--display-name", "Ann", "--json"],
            input: link
        )
        #expect(result.exitCode == 0)
        let item = try #require(try result.records().first)
        #expect(item["org_name"] as? String == "Tus" && item["event_date"] as? String == "2026-03-01")
        #expect(item["transport"] as? String == "tus" && item["guest_job_id"] is Int)
        #expect(!(refused.errors + result.output + result.errors).contains(secret))

        let unchecked = try await guest.run(["uploads", "delete", "1", "--dry-run"])
        #expect(unchecked.output.contains("would be hidden (state not checked); "))
        let status = try await guest.run(["uploads", "status", "--json"])
        #expect(status.output.contains(#""guest_status":"pending""#))
        let wrong = String(repeating: "0", count: 64)
        #expect(try await guest.run(["uploads", "delete", "1", "--yes", "--sha256", wrong]).exitCode == 2)
        let early = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(early.exitCode == 4 && early.errors.contains("it is pending, and only an approved upload"))
        let job = try #require(item["guest_job_id"] as? Int)
        _ = try await fixture.control("POST", "guest-jobs/\(job)/approve")
        let approved = try await guest.run(["uploads", "status"])
        #expect(approved.output.contains("guest, approved") && !approved.errors.contains("next:"))
        #expect(try await guest.run(["uploads", "status", "--json"]).output.contains(#""next":null"#))
        #expect(try await guest.run(["uploads", "list"]).output.contains("(guest)"))
        #expect(try await guest.run(["uploads", "list"]).lines.last?.hasSuffix("approved, just now") == true)
        let planned = try await guest.run(["uploads", "delete", "1", "--dry-run"])
        #expect(planned.output.contains("would be hidden (last known state: approved, just now); "))
        let hidden = try await guest.run(["uploads", "delete", "1", "--yes", "--json"])
        #expect(hidden.exitCode == 0 && hidden.output.contains(#""state":"hidden""#))
        try hidden.expectShapes("uploads-delete")
        #expect(try await guest.run(["uploads", "status", "--json"]).lines.count == 2)
        #expect(try fixture.sandbox.storedFiles().count == 1, "the server keeps the file")
    }

    /// The next command shows the last known state, and does not attempt an operation that the state does not allow.
    @Test func theStateIsStoredAndDecidesWhatIsOffered() async throws {
        let file = try fixture.file("a.mp4")
        let upload = ["upload", file, "--event-link-file", "-", "--accept-terms", "--json"]
        let item = try #require(try await guest.run(upload, input: link).records().first)
        let job = try #require(item["guest_job_id"] as? Int)
        func list() async throws -> [String: Any] {
            let result = try await guest.run(["uploads", "list", "--json"])
            try result.expectShapes("uploads-list")
            return try #require(try result.records().first)
        }
        #expect(try await list()["guest_state"] is NSNull, "no server was contacted")
        #expect(try await guest.run(["uploads", "list"]).lines.last?.hasSuffix("not checked") == true)
        _ = try await guest.run(["uploads", "status"])
        #expect(try await list()["guest_state"] as? String == "pending")
        #expect(try await list()["guest_state_at"] is String)
        // A guest cannot use a delete token; the state determines the possible operations.
        let pending = try await guest.run(["uploads", "show", "1"])
        #expect(pending.output.contains("it can be hidden once the organizer has approved it"))
        #expect(!pending.output.contains("delete token"))
        // The listing does not confirm a guest upload, which is reported.
        let verified = try await fixture.runner.run(["uploads", "verify", "--json"] + fixture.login)
        #expect(verified.exitCode == 0)
        #expect(verified.errors.contains("1 guest upload cannot be verified by the listing"))
        #expect(try verified.records("summary").first?["guests"] as? Int == 1)

        // A pending upload cannot be hidden: there is no prompt, and nothing is sent.
        let posts = try await fixture.sandbox.posts()
        let refused = try await guest.run(["uploads", "delete", "1"], streams: .terminal(columns: 100))
        #expect(refused.exitCode == 4 && !refused.output.contains("[y/N]"))
        let rehearsed = try await guest.run(["uploads", "delete", "1", "--dry-run"])
        #expect(rehearsed.exitCode == 4 && rehearsed.errors.contains("can be hidden (last known state)\n"))
        #expect(!refused.output.contains("last known state"))
        #expect(try await fixture.sandbox.posts() == posts)

        // The deletion itself queries the state, which may have changed.
        _ = try await fixture.control("POST", "guest-jobs/\(job)/approve")
        #expect(try await guest.run(["uploads", "delete", "1", "--yes"]).output.hasPrefix("hidden 1"))
        #expect(try await list()["guest_state"] as? String == "hidden")
        #expect(!(try await guest.run(["uploads", "show", "1"])).output.contains("delete token"))
        let again = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(again.exitCode == 10 && again.errors.contains("1 is already hidden; the server keeps the file"))
        // The server still reports the upload as approved; the local state is kept.
        _ = try await guest.run(["uploads", "status"])
        #expect(try await list()["guest_state"] as? String == "hidden")
        let offline = try await guest.run(["uploads", "status", "--dry-run", "--json"])
        #expect(offline.lines.count == 2, "a hidden upload is not pending")
    }

    /// The server refuses the second upload as a duplicate, without a receipt; the first upload's receipt still hides
    /// the file.
    @Test func aRepeatedUploadCanBeHidden() async throws {
        let linkFile = try fixture.text("link", link)
        let upload = ["upload", try fixture.file("a.mp4"), "--event-link-file", linkFile, "--accept-terms"]
        let first = try await guest.run(upload + ["--json"])
        let job = try #require(try first.records().first?["guest_job_id"] as? Int)
        let second = try await guest.run(upload)
        #expect(second.exitCode == 0 && second.output.contains("already in this event as 1"))
        #expect(!second.output.contains("to delete:"))
        #expect(second.output.contains("it is shown once the organizer approves it"))

        let status = try await guest.run(["uploads", "status", "--json"])
        #expect(try status.records().map { $0["guest_status"] as? String } == ["pending"])
        #expect(try await guest.run(["uploads", "list", "--json"]).records().count == 1)
        _ = try await fixture.control("POST", "guest-jobs/\(job)/approve")
        let approved = try await guest.run(upload)
        #expect(approved.output.contains("approved by the organizer; to remove it: mediactl uploads delete 1"))
        let hidden = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(hidden.exitCode == 0 && hidden.output.hasPrefix("hidden 1"), "\(hidden.errors)")
        #expect(try await guest.run(["uploads", "status"]).errors.contains("no unfinished uploads"))
        let again = try await guest.run(upload)
        #expect(again.exitCode == 0 && again.output.contains("already in this event as 1"))
        #expect(again.output.contains("  hidden by you; the server keeps the file"), "\(again.output)")
    }

    @Test func aRejectedUploadIsDiscarded() async throws {
        let upload = ["upload", try fixture.file("a.mp4"), "--event-link-file", "-", "--accept-terms", "--json"]
        let item = try #require(try await guest.run(upload, input: link).records().first)
        let job = try #require(item["guest_job_id"] as? Int)
        let id = try #require(item["upload_id"] as? String)
        let unknown = try await guest.run(["uploads", "discard", id, "--dry-run"])
        #expect(unknown.exitCode == 10 && unknown.errors.contains("hint: mediactl uploads status"), "\(unknown)")
        for state in ["pending", "approved"] {
            if state == "approved" { _ = try await fixture.control("POST", "guest-jobs/\(job)/approve") }
            let refused = try await guest.run(["uploads", "discard", id, "--yes"])
            #expect(refused.exitCode == 10 && refused.errors.contains("the guest upload is \(state)"), "\(refused)")
            #expect(refused.errors.contains("uploads delete 1") == (state == "approved"), "\(refused)")
        }

        _ = try await fixture.control("POST", "guest-jobs/\(job)/reject")
        let status = try await guest.run(["uploads", "status"])
        let discard = "mediactl uploads discard \(id)"
        #expect(status.output.contains("guest, rejected") && status.errors.contains("next: \(discard)\n"), "\(status)")
        let deleted = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(deleted.exitCode == 4 && deleted.errors.contains(discard), "\(deleted)")
        try await fixture.sandbox.addFaults("guest-status:reset")
        let requests = try await fixture.sandbox.requests().count
        let planned = try await guest.run(["uploads", "discard", id, "--dry-run"])
        #expect(planned.exitCode == 0 && planned.output.contains("would be discarded"), "\(planned)")
        #expect(try await fixture.sandbox.requests().count == requests)
        let unreachable = try await guest.run(["uploads", "discard", id, "--yes"])
        #expect(unreachable.exitCode == 6, "\(unreachable)")
        let discarded = try await guest.run(["uploads", "discard", id, "--yes", "--even-unreachable"])
        #expect(discarded.exitCode == 0 && discarded.output.hasPrefix("discarded \(id) "), "\(discarded)")
        #expect(discarded.output.hasSuffix("; the server keeps the file\n"), "\(discarded)")
        #expect(try await guest.run(["uploads", "status"]).errors.contains("no unfinished uploads"))
        let list = try await guest.run(["uploads", "list", "--json"]).records()
        #expect(list.map { $0["guest_state"] as? String } == ["rejected"])
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test func aRepeatedUploadReportsItsRejection() async throws {
        let linkFile = try fixture.text("link", link)
        let upload = ["upload", try fixture.file("a.mp4"), "--event-link-file", linkFile, "--accept-terms"]
        let first = try await guest.run(upload + ["--json"])
        let job = try #require(try first.records().first?["guest_job_id"] as? Int)
        _ = try await fixture.control("POST", "guest-jobs/\(job)/reject")
        let second = try await guest.run(upload)
        #expect(second.exitCode == 0 && second.output.contains("already in this event as 1"), "\(second.errors)")
        #expect(second.output.contains("  rejected by the organizer"), "\(second.output)")
        #expect(!second.output.contains("once the organizer approves"))
    }

    /// The command in the hint resumes the upload, with the event link file.
    @Test func anInterruptedUploadIsResumedAsTheHintSays() async throws {
        let linkFile = try fixture.text("link", link)
        let file = try fixture.file("a.mp4", byteCount: 1_000_000)
        let upload = [file, "--event-link-file", linkFile, "--accept-terms"]
        let stopped = try await fixture.interruptedUpload(upload, by: guest)
        let hint = try #require(stopped.output.firstMatch(of: /resume with: mediactl (.+ --event-link-file) FILE\n/))
        let words = hint.1.split(separator: " ").map(String.init)
        let resumed = try await guest.run(words + [linkFile, "--accept-terms"])
        #expect(resumed.exitCode == 0 && resumed.output.hasPrefix("uploaded "), "\(resumed.errors)")
    }

    /// A dry run requires the event link as well; a finished upload is refused before the link is used.
    @Test func aFinishedOrLinklessUploadIsNotResumed() async throws {
        let linkFile = try fixture.text("link", link)
        let upload = ["--event-link-file", linkFile, "--accept-terms"]
        let file = try fixture.file("a.mp4", byteCount: 1_000_000)
        let stopped = try await fixture.interruptedUpload([file, "--json"] + upload, by: guest)
        let id = try #require(try stopped.records().first?["upload_id"] as? String)
        for options in [[], ["--dry-run"]] {
            let refused = try await guest.run(["uploads", "resume", id] + options)
            #expect(refused.exitCode == 10 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("requires its event link"), "\(refused)")
        }
        #expect(try await guest.run(["uploads", "resume", id] + upload).exitCode == 0)

        let requests = try await fixture.sandbox.requests().count
        for options in [[], ["--event-link-file", linkFile], ["--dry-run"]] {
            let refused = try await guest.run(["uploads", "resume", id] + options)
            #expect(refused.exitCode == 10 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("its state is done"), "\(refused)")
        }
        #expect(try await fixture.sandbox.requests().count == requests)
    }

    /// The token of an upload with a login deletes the file even if a guest uploaded it to another event, earlier or
    /// later.
    @Test(arguments: [true, false]) func aTokenIsUsedForAFileThatAGuestUploadedToo(_ isLoginFirst: Bool) async throws {
        let linkFile = try fixture.text("link", link)
        let file = try fixture.file("a.mp4")
        let asGuest = ["upload", file, "--event-link-file", linkFile, "--accept-terms", "--json"]
        let event = ["--event-date", "2026-04-01", "--org-name", "Own"]
        if isLoginFirst { #expect(try await fixture.upload([file] + event).exitCode == 0) }
        #expect(try await guest.run(asGuest).exitCode == 0)
        if !isLoginFirst {
            let linked = try await fixture.upload([file] + event)
            #expect(linked.output.contains("linked ") && linked.output.contains("to delete: mediactl uploads delete 1"))
        }

        let list = try await fixture.runner.run(["uploads", "list", "--json"])
        let items = try list.records()
        #expect(items.count == 1 && items.first?["guest"] as? Bool == false, "\(list.output)")
        #expect((items.first?["linked_events"] as? [Any])?.count == 1)
        #expect(try await fixture.runner.run(["uploads", "show", "1"]).output.contains("delete token"))
        let deleted = try await fixture.runner.run(["uploads", "delete", "1", "--yes", "--json"] + fixture.login)
        #expect(deleted.exitCode == 0 && deleted.output.contains(#""state":"deleted""#), "\(deleted.output)")
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    /// The server still reports the upload as pending.
    @Test func aGuestUploadDeletedByAnAdministratorIsNoLongerListed() async throws {
        let linkFile = try fixture.text("link", link)
        let upload = ["upload", try fixture.file("a.mp4"), "--event-link-file", linkFile, "--accept-terms"]
        #expect(try await guest.run(upload).exitCode == 0)
        // Simulates the store of a machine on which the guest did not get a token.
        let store = try fixture.runner.store()
        for entry in try store.tokens(host: nil) { try store.remove(entry) }
        let deleted = try await fixture.runner.run(
            ["uploads", "delete", "1", "--yes", "--as-admin", "--user", "admin", "--server", fixture.sandbox.baseURL],
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        #expect(deleted.exitCode == 0 && deleted.output.hasPrefix("deleted 1"), "\(deleted.errors)")
        #expect(try await guest.run(["uploads", "status"]).errors.contains("no unfinished uploads"))
        #expect(try await guest.run(["uploads", "list", "--json"]).records().isEmpty)
        #expect(try await guest.run(["uploads", "delete", "1", "--yes"]).exitCode == 11)
        // The file may be uploaded again.
        let again = try await guest.run(upload)
        #expect(again.exitCode == 0 && again.output.contains("as 2"), "\(again.errors)")
        #expect(try await guest.run(["uploads", "status"]).output.contains("guest, pending"))
    }

    @Test func rejectedUploadsAreNotOffered() async throws {
        let file = try fixture.file("a.mp4")
        let upload = ["upload", file, "--event-link-file", "-", "--accept-terms", "--json"]
        let item = try #require(try await guest.run(upload, input: link).records().first)
        _ = try await fixture.control("POST", "guest-jobs/\(try #require(item["guest_job_id"] as? Int))/reject")
        let result = try await guest.run(["uploads", "delete", "1", "--yes"])
        #expect(result.exitCode == 4 && result.errors.contains("the organizer has rejected it"))
        #expect(try await guest.run(["uploads", "list"]).lines.last?.contains("rejected, just now") == true)
        let known = try await guest.run(["uploads", "status", "--dry-run", "--json"])
        try known.expectShapes("uploads-status")
        #expect(known.output.contains(#""guest_status":null,"guest_state":"rejected""#))
    }

    @Test(arguments: [
        ("--event-link-file", 0o644, true), ("--event-link-file", 0o600, false), ("--upload-token-file", 0o640, true),
    ])
    func linkFilesReadableByOthersAreAWarning(_ flag: String, _ mode: Int, _ isWarned: Bool) async throws {
        let file = try fixture.file("a.mp4")
        let secretFile = try fixture.text("link", flag == "--event-link-file" ? link : secret)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: secretFile)
        let result = try await guest.run(
            ["upload", file, flag, secretFile, "--accept-terms", "--server", fixture.sandbox.baseURL]
        )
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("contains a secret and can be read by other users") == isWarned)
    }

    @Test func aLinkOnTheCommandLineIsAWarning() async throws {
        let file = try fixture.file("a.mp4")
        let result = try await guest.run(["upload", file, "--event-link", link, "--accept-terms"])
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("other users of this machine can see an event link on the command line"))
        #expect(!result.errors.contains(secret))
    }

    @Test func aBareTokenRequiresAServer() async throws {
        let file = try fixture.file("a.mp4")
        let token = try fixture.text("token", secret)
        let command = ["upload", file, "--upload-token-file", token, "--accept-terms"]
        #expect(try await guest.run(command).errors.contains("no server configured"))
        #expect(try await guest.run(command + ["--server", fixture.sandbox.baseURL]).exitCode == 0)
    }

    @Test func aLinkToAnotherServerIsNotSentToThisOne() async throws {
        let file = try fixture.file("a.mp4")
        let link = try fixture.text("link", "https://other.example/upload/\(secret)")
        let command = ["upload", file, "--event-link-file", link, "--accept-terms"]
        let result = try await guest.run(command + ["--server", fixture.sandbox.baseURL])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("the event link is for https://other.example, not for --server"))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test func termsMayBeAcceptedOnATerminal() async throws {
        let file = try fixture.file("a.mp4")
        let linkFile = try fixture.text("link", link)
        for (response, exitCode) in [("no\n", Int32(1)), ("yes\n", 0)] {
            let child = try guest.start(
                ["upload", file, "--event-link-file", linkFile],
                streams: .terminal(columns: 100)
            )
            try await child.respond(to: "Do you accept the organizer's terms?", with: response)
            let result = try await child.finish()
            #expect(result.exitCode == exitCode)
            // The address of the page is printed without its secret, with a note on where to find the secret.
            let words = (result.output + result.errors).replacing("\r", with: "")
            #expect(words.contains("\(fixture.sandbox.baseURL)/upload/TOKEN"))
            #expect(words.contains("the whole link is in \"\(linkFile)\""))
            #expect(!words.contains(secret))
        }
    }

    @Test(arguments: ["https://h.example/other/x", "nonsense"])
    func anInvalidLinkIsNotPrinted(text: String) async throws {
        let file = try fixture.file("a.mp4")
        let result = try await guest.run(["upload", file, "--event-link-file", "-", "--accept-terms"], input: text)
        #expect(result.exitCode == 2 && result.errors.contains("not an event link"))
        #expect(!result.errors.contains(text))
    }

    @Test func revokedLinksAreRefusedBeforeAnythingIsSent() async throws {
        let file = try fixture.file("a.mp4")
        _ = try await fixture.control("DELETE", "event-links/\(secret)")
        let result = try await guest.run(
            ["upload", file, "--event-link-file", "-", "--accept-terms"],
            input: link
        )
        #expect(result.exitCode == 4 && result.errors.contains("the event link is not valid"))
    }
}
