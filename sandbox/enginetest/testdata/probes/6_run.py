for name, (group, f) in probes.items():
    if group not in GROUPS:
        continue
    try:
        result = {"open": True, "detail": f()}
    except OSError as e:
        result = {"open": False, "detail": errno.errorcode.get(e.errno, str(e.errno)) + " " + str(e)}
    except BaseException as e:
        result = {"broken": True, "detail": repr(e)}
    print(json.dumps({"name": name, "group": group, **result}, default=repr), flush=True)
