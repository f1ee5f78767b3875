internal import CaptureSubmission
internal import MediaCore
internal import MediaTransport

extension PrivacySettings {
    /// Why a text is no stored form.
    struct Unreadable: Error {
        /// What is wrong, to stand behind a file's name.
        var detail: String
        /// What was found there.
        var value: String?
    }

    /// Reads the stored form: all four members, each once, and no other. A member that is missing or misspelled would turn
    /// into a default that tells more than was meant.
    init(json text: [UInt8]) throws(Unreadable) {
        guard String(validating: text, as: UTF8.self) != nil else { throw Unreadable(detail: "it is not UTF-8") }
        var cursor = JSONCursor(text[...])
        do {
            guard cursor.kind() == .object else { throw Unreadable(detail: "it is not a JSON object") }
            var seen = Set<Member>()
            try cursor.beginObject()
            while let name = try cursor.nextMember() {
                guard let member = Member(rawValue: name) else {
                    throw Unreadable(detail: "it has a member that is not known", value: name)
                }
                guard seen.insert(member).inserted else {
                    throw Unreadable(detail: "it has a member twice", value: name)
                }
                try read(member, from: &cursor)
            }
            guard cursor.isAtEnd() else { throw Unreadable(detail: "it is not JSON") }
            if let missing = Member.allCases.first(where: { !seen.contains($0) }) {
                throw Unreadable(detail: "a member is missing", value: missing.rawValue)
            }
        } catch let error as Unreadable {
            throw error
        } catch {
            throw Unreadable(detail: "it is not JSON")
        }
    }

    private mutating func read(_ member: Member, from cursor: inout JSONCursor) throws {
        switch member {
        case .privacyMode:
            guard cursor.kind() == .bool else { throw Unreadable(detail: "\(member.rawValue) is not true or false") }
            isPrivacyModeEnabled = try cursor.bool()
        case .location: location = try level(of: member, from: &cursor)
        case .timestamp: timestamp = try level(of: member, from: &cursor)
        case .deviceInfo: deviceInfo = try level(of: member, from: &cursor)
        }
    }

    private func level<Level: RawRepresentable & CaseIterable>(
        of member: Member,
        from cursor: inout JSONCursor
    ) throws -> Level where Level.RawValue == String {
        guard cursor.kind() == .string, let text = try cursor.string() else {
            throw Unreadable(detail: "\(member.rawValue) is not a text")
        }
        guard let level = Level(rawValue: text) else {
            let known = Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw Unreadable(detail: "\(member.rawValue) is none of \(known)", value: text)
        }
        return level
    }
}
