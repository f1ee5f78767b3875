internal import GigHive
internal import MediaCore

/// The members of the records of `doctor` and `smoke`.
extension JSONRenderer {
    static func check(_ check: ServerCheck, _ diagnosis: Diagnosis?) -> JSONObject {
        let facts = check.facts.sorted { $0.key < $1.key }
            .map { JSONValue.object(["name": .string($0.key), "value": .string($0.value)]) }
        return [
            "name": .string(check.name), "status": .string(check.status.rawValue), "detail": .string(check.detail),
            "facts": .array(facts), "duration_ms": .integer(Formats.milliseconds(check.duration)),
            "error": error(diagnosis),
        ]
    }
}
