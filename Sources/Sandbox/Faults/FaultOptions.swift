/// `name` or `name=value`.
struct FaultSetting {
    var name: String
    var value: String

    init(_ text: Substring) {
        let pieces = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        name = pieces.first ?? ""
        value = pieces.count > 1 ? pieces[1] : ""
    }

    func count(in text: String, atLeast minimum: Int = 0) throws(FaultSyntaxError) -> Int {
        guard let number = Int(value), number >= minimum else {
            throw FaultSyntaxError(text, "\(name) needs a whole number")
        }
        return number
    }

    func seconds(in text: String) throws(FaultSyntaxError) -> Double {
        guard let number = Double(value), number.isFinite, number >= 0 else {
            throw FaultSyntaxError(text, "\(name) needs a number of seconds")
        }
        return number
    }

    func word(in text: String) throws(FaultSyntaxError) -> String {
        guard !value.isEmpty else { throw FaultSyntaxError(text, "\(name) needs a value") }
        return value
    }

    func status(in text: String) throws(FaultSyntaxError) -> Int {
        guard let code = Int(value), (200...599).contains(code) else {
            throw FaultSyntaxError(text, "\(name) needs a status from 200 to 599")
        }
        return code
    }
}

/// What may follow the fault's name.
struct FaultOptions {
    let text: String
    var times: Int?
    var moment = Fault.Moment.bodyBytes(0)
    var seconds: Double?
    var every = 1
    var skip = 0
    var retryAfter: Int?

    init(text: String) {
        self.text = text
    }

    mutating func read(_ setting: FaultSetting) throws(FaultSyntaxError) {
        switch setting.name {
        case "times": times = try setting.count(in: text, atLeast: 1)
        case "every": every = try setting.count(in: text, atLeast: 1)
        case "skip": skip = try setting.count(in: text)
        case "for": seconds = try setting.seconds(in: text)
        case "retry-after": retryAfter = try setting.count(in: text)
        case "after":
            switch setting.value {
            case "body": moment = .wholeBody
            case "response-headers": moment = .responseHeaders
            case let value where value.hasPrefix("response+"):
                guard let count = Int(value.dropFirst("response+".count)), count > 0 else {
                    throw FaultSyntaxError(text, "response+ needs a number from 1 on")
                }
                moment = .responseBytes(count)
            default: moment = .bodyBytes(try setting.count(in: text))
            }
        default: throw FaultSyntaxError(text, "unknown option \"\(setting.name)\"")
        }
    }
}
