import MediaStore
import Testing

@testable import GigHive

@Suite struct UploadDetailsTests {
    private func validated(
        date: String = "2026-03-01",
        org: String = "Band",
        type: String = "band",
        label: String = "one",
        rating: String? = nil,
        notes: String? = nil
    ) throws(GigHiveError) -> UploadDetails {
        try UploadDetails.validated(
            eventDate: date,
            orgName: org,
            eventType: type,
            label: label,
            rating: rating,
            notes: notes
        )
    }

    private func refusedField(_ make: () throws(GigHiveError) -> UploadDetails) -> String? {
        do {
            _ = try make()
            return nil
        } catch {
            return error.code == .invalidDetail ? error.field : "another code"
        }
    }

    @Test(arguments: [
        ("2026-03-01", true), ("2024-02-29", true), ("2000-02-29", true), ("2026-12-31", true), (" 2026-03-01 ", true),
        ("2026-02-29", false), ("1900-02-29", false), ("2026-04-31", false), ("2026-13-01", false),
        ("2026-00-10", false), ("2026-01-00", false), ("0000-01-01", false), ("2026-3-1", false), ("", false),
        ("2026/03/01", false), ("2026-03-01T00", false), ("２０２６-03-01", false), ("+026-03-01", false),
    ]) func dates(_ date: String, _ isValid: Bool) {
        #expect(refusedField { () throws(GigHiveError) in try validated(date: date) } == (isValid ? nil : "event_date"))
    }

    @Test(arguments: [
        (String(repeating: "a", count: 255), true),
        (String(repeating: "a", count: 256), false),
        // One grapheme cluster of 7 scalars each.
        (String(repeating: "👨‍👩‍👧‍👦", count: 36), true),
        (String(repeating: "👨‍👩‍👧‍👦", count: 37), false),
        // NFC composes two scalars into one.
        (String(repeating: "e\u{301}", count: 255), true),
        ("  \n", false), ("a\u{0}b", false), ("a\nb", false), ("a\u{1b}[31m", false), ("a\u{7f}", false),
        ("a\u{80}b", false), ("a\u{9b}31m", false), ("\u{85}a", false), ("a\u{9f}", false),
        ("\u{200b}", false), ("\u{200c}\u{200d}\u{2060}\u{feff}", false), (" \u{200b}\u{3000}", false),
        ("\u{a0}\u{2003}", false), ("a\u{200b}", true), ("\u{ad}", true), ("\u{3000}a", true),
    ]) func labels(_ label: String, _ isValid: Bool) {
        #expect(refusedField { () throws(GigHiveError) in try validated(label: label) } == (isValid ? nil : "label"))
    }

    @Test func textIsTrimmedAndComposed() throws {
        let details = try validated(org: "  Café\u{20}", label: "\tCafe\u{301}\n")
        #expect(Array(details.label.unicodeScalars) == Array("Caf\u{e9}".unicodeScalars))
        #expect(details.orgName == "Café")
    }

    @Test(arguments: [
        ("Band", true), (String(repeating: "o", count: 128), true), (String(repeating: "o", count: 129), false),
        ("", false), (" ", false),
    ]) func organizationsAreChecked(_ org: String, _ isValid: Bool) {
        #expect(refusedField { () throws(GigHiveError) in try validated(org: org) } == (isValid ? nil : "org_name"))
    }

    @Test(arguments: [("band", true), ("wedding", true), ("other", true), ("party", false), ("", false)])
    func eventTypes(_ type: String, _ isValid: Bool) {
        #expect(refusedField { () throws(GigHiveError) in try validated(type: type) } == (isValid ? nil : "event_type"))
    }

    @Test(
        arguments: [
            ("0", "0"), ("9", "9"), ("09", "9"), (" ", nil), ("10", "refused"), ("-1", "refused"), ("4.5", "refused"),
            ("99999999999999999999", "refused"),
        ] as [(String, String?)]
    )
    func ratings(_ rating: String, _ expected: String?) {
        do {
            #expect(try validated(rating: rating).rating == expected)
        } catch {
            #expect(expected == "refused")
        }
    }

    @Test func notesMayContainLineBreaks() throws {
        #expect(try validated(notes: "one\n\ttwo").notes == "one\n\ttwo")
        #expect(refusedField { () throws(GigHiveError) in try validated(notes: "a\u{0}") } == "notes")
        #expect(refusedField { () throws(GigHiveError) in try validated(notes: "a\u{9b}") } == "notes")
        #expect(try validated(notes: "\u{200b}\n").notes == nil)
    }

    @Test func fieldsAreInOrderAndBlankOnesOmitted() throws {
        let all = try UploadDetails.validated(
            eventDate: "2026-03-01",
            orgName: "Band",
            eventType: "band",
            label: "one",
            participants: "p",
            keywords: "k",
            location: "l",
            rating: "1",
            notes: "n"
        )
        #expect(
            all.fields.map(\.name) == [
                "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating",
                "notes",
            ]
        )
        let few = try UploadDetails.validated(
            eventDate: "2026-03-01",
            orgName: "Band",
            eventType: "band",
            label: "one",
            participants: " ",
            keywords: "",
            notes: "\n"
        )
        #expect(few.fields.count == 4)
        #expect(UploadDetails(all.fields) == all)
    }
}
