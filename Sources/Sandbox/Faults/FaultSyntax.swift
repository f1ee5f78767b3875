/// The language of `--fault` and of the control route.
///
///     <where>:<what>[=value][,option=value]…
///
/// See ``help`` for the words.
enum FaultSyntax {
    static func parse(_ text: String) throws(FaultSyntaxError) -> Fault {
        guard let colon = text.firstIndex(of: ":") else { throw FaultSyntaxError(text, "no \":\"") }
        guard let place = Fault.Place(rawValue: String(text[..<colon])) else {
            throw FaultSyntaxError(text, "unknown place \"\(text[..<colon])\"")
        }
        let settings = text[text.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
            .map(FaultSetting.init)
        var options = FaultOptions(text: text)
        for setting in settings.dropFirst() { try options.read(setting) }
        guard let what = settings.first else { throw FaultSyntaxError(text, "no fault named") }
        let effect = try effect(what, options)
        guard isPossible(effect, at: place) else {
            throw FaultSyntaxError(text, "\(what.name) cannot strike \(place.rawValue)")
        }
        return Fault(
            place: place,
            effect: effect,
            times: options.times,
            every: options.every,
            skip: options.skip,
            retryAfter: options.retryAfter
        )
    }

    private static func isPossible(_ effect: Fault.Effect, at place: Fault.Place) -> Bool {
        switch effect {
        case .forget: [.tusPatch, .tusHead, .tusDelete, .finalize].contains(place)
        case .expire: [.tusPatch, .tusHead, .tusDelete].contains(place)
        case .bodyTimeout: place == .photosUpload
        case .corruptByte, .ignoreRange: place == .photosDownload
        case .list: place == .photosList
        case .postLimit, .fileLimit: place == .upload
        case .collision: place == .upload || place == .finalize
        default: true
        }
    }

    private static func effect(_ what: FaultSetting, _ options: FaultOptions) throws(FaultSyntaxError) -> Fault.Effect {
        let text = options.text
        switch what.name {
        case "reset": return .reset(options.moment)
        case "stall": return .stall(options.moment, seconds: options.seconds)
        case "slow": return .slow(bytesPerSecond: try what.count(in: text, atLeast: 1))
        case "slow-answer": return .slowAnswer(bytesPerSecond: try what.count(in: text, atLeast: 1))
        case "early-status": return .earlyStatus(try what.status(in: text))
        case "status": return .status(try what.status(in: text))
        case "drop-answer": return .dropAnswer
        case "delay-answer": return .delayAnswer(seconds: try what.seconds(in: text))
        case "truncate": return .truncate(bytes: try what.count(in: text))
        case "wrong-length": return .wrongLength
        case "html": return .html
        case "whitespace": return .whitespace(bytes: try what.count(in: text))
        case "500-after-store": return .errorAfterStore
        case "1062": return .duplicateEntry
        case "status-after": return .statusAfter(try what.status(in: text))
        case "limit": return .limit(bytes: try what.count(in: text))
        case "post-limit": return .postLimit(bytes: try what.count(in: text))
        case "file-limit": return .fileLimit(bytes: try what.count(in: text))
        case "collision":
            guard let key = CollidingKey(rawValue: what.value) else {
                throw FaultSyntaxError(text, "collision requires event, sequence or checksum")
            }
            return .collision(key)
        case "forget": return .forget
        case "expire": return .expire
        case "body-timeout": return .bodyTimeout(seconds: try what.seconds(in: text))
        case "redirect": return .redirect(try what.word(in: text))
        case "content-type": return .contentType(try what.word(in: text))
        case "endless-json": return .endlessJSON(bytes: try what.count(in: text))
        case "corrupt-byte": return .corruptByte
        case "ignore-range": return .ignoreRange
        default:
            if let trouble = try listTrouble(what, in: text) { return .list(trouble) }
            guard let alteration = Fault.Alteration(rawValue: what.name) else {
                throw FaultSyntaxError(text, "unknown fault \"\(what.name)\"")
            }
            return .alter(alteration)
        }
    }
}

extension FaultSyntax {
    private static func listTrouble(
        _ what: FaultSetting,
        in text: String
    ) throws(FaultSyntaxError) -> Fault.ListTrouble? {
        switch what.name {
        case "repeated-cursor": .repeatedCursor
        case "endless": .endless
        case "empty-page": .emptyPage
        case "expired-cursor": .expiredCursor
        case "lost-photo": .lostPhoto
        case "total": .total(try what.count(in: text))
        case "hostile-names": .hostileNames
        default: nil
        }
    }
}

/// A fault that cannot be understood.
struct FaultSyntaxError: Error, Equatable, CustomStringConvertible {
    var description: String

    init(_ text: String, _ reason: String) {
        description = "cannot read fault \"\(text)\": \(reason)"
    }
}
